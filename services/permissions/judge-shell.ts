/** What rules and mode say about a shell command: each command in it is judged by itself. */
import { repositoryDoubt } from './git/repository.ts';
import { byRule, guardGlob, guardPath, type PathCheck, permitPath } from './judge-paths.ts';
import { guardAbove } from './own-folder.ts';
import type { Place } from './paths.ts';
import type { Rule } from './rules.ts';
import { allowsWords, guardsWords } from './shell/command-pattern.ts';
import { readGit } from './shell/git.ts';
import { loadShellParser } from './shell/parser.ts';
import { isReadOnlyWords, pathWords } from './shell/read-only.ts';
import {
  readShell,
  type ShellCommand,
  type ShellReading,
  type ShellRedirect,
  type ShellWord,
} from './shell/reading.ts';
import { programOf } from './shell/wrappers.ts';
import { type Folders, globbed, placesOf } from './shell-places.ts';
import { allow, ask, deny, silent, strictest, type Verdict } from './verdict.ts';

/** More places than this in one command are nowhere. */
const FOLDERS_MAX = 16;

export interface ShellJudgement {
  /** Deny and ask rules. */
  readonly against: Verdict;
  /** Whether every command in it is allowed by a rule, or only reads what may be read. */
  readonly permit: Verdict;
}

/** *Contract:* what is in doubt is never permitted; what is denied is denied, doubts or not. */
export async function judgeShell(source: string, check: PathCheck): Promise<ShellJudgement> {
  await loadShellParser();
  const { home, cwd } = check.place;
  // After a `cd` nobody knows it any more.
  const moves = /\b(cd|pushd|popd)\b/.test(source);
  const variables = { HOME: home, ...(moves ? {} : { PWD: cwd }) };
  const reading = readShell(source, plainOnly(variables));
  const doubts = [...reading.doubts, ...reading.commands.flatMap((one) => hidden(one, check))];
  const folders = await foldersOf(reading, check.place);
  const against: Verdict[] = [];
  const permits: Verdict[] = [];
  for (const command of reading.commands) {
    against.push(guardCommand(command, check), await guardFiles(command, folders, check));
    if (!command.isWrapper) permits.push(await permitCommand(command, folders, check));
  }
  for (const redirect of reading.redirects) {
    const judged = await judgeRedirect(redirect, folders, check);
    against.push(judged.against);
    permits.push(judged.permit);
  }
  const [doubt] = doubts;
  if (doubt !== undefined) permits.push(ask(doubt));
  if (permits.length === 0) permits.push(ask('there is nothing in it that can be judged'));
  return {
    against: strictest(against),
    permit: everythingAllowed(doubts, check) ?? strictest(permits),
  };
}

/** Without quotes a value with a space is two words, and one with a star is any. */
const plainOnly = (variables: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(variables).filter(([, value]) => !/[\s*?[\\]/.test(value)));

/**
 * A rule for all of Bash means doubts and redirections as well, unless other rules guard something
 * that could hide in them.
 */
function everythingAllowed(doubts: readonly string[], { rules }: PathCheck): Verdict | undefined {
  const rule = rules.allow.find((one) => one.tool === 'Bash' && one.spec.kind === 'any');
  if (!rule) return undefined;
  const hasGuards = [...rules.deny, ...rules.ask].some(
    ({ spec }) => spec.kind === 'command' || spec.kind === 'path',
  );
  return doubts.length > 0 && hasGuards ? undefined : allow(byRule('allow', rule));
}

const textsOf = (words: readonly ShellWord[]) => words.map(({ text }) => text);

/** Deny and ask rules, in every spelling of the command that we know. */
function guardCommand(command: ShellCommand, { rules }: PathCheck): Verdict {
  const { words } = command;
  const spellings = [textsOf(words)];
  if (programOf(words) === 'git') spellings.push(textsOf(readGit(words).words));
  const isMeant = (rule: Rule) => {
    const { spec } = rule;
    return spec.kind === 'command' && spellings.some((texts) => guardsWords(spec.pattern, texts));
  };
  const denied = rules.deny.find(isMeant);
  if (denied) return deny(`${byRule('deny', denied)} is about \`${shown(command)}\``);
  const asked = rules.ask.find(isMeant);
  return asked ? ask(`${byRule('ask', asked)} is about \`${shown(command)}\``, true) : silent;
}

/** Programs with commands of their own, which may have the names of other programs (`git rm`). */
const withCommands =
  /^(git|npm|pnpm|yarn|bun|cargo|go|docker|podman|kubectl|gh|aws|gcloud|az|pip|uv)$/;

/**
 * No table knows every program that starts others: where the later words of a command are what a
 * rule guards, somebody should look.
 */
function hidden(command: ShellCommand, { rules }: PathCheck): readonly string[] {
  const { words, isWrapper } = command;
  if (isWrapper || isReadOnlyWords(command) || withCommands.test(programOf(words))) return [];
  const guards = [...rules.deny, ...rules.ask].flatMap(({ spec, text }) =>
    spec.kind === 'command' ? [{ pattern: spec.pattern, text }] : [],
  );
  const texts = textsOf(words);
  const found = guards.find(({ pattern }) =>
    texts.some((_, at) => at > 0 && guardsWords(pattern, texts.slice(at))),
  );
  return found ? [`\`${shown(command)}\` may start what ${found.text} is about`] : [];
}

/** Enough of a command to recognise it. */
const SHOWN_CHARS_MAX = 200;
const shown = ({ words }: ShellCommand) => textsOf(words).join(' ').slice(0, SHOWN_CHARS_MAX);

/** Files that the words of a command may name, against the rules for files. */
async function guardFiles(
  command: ShellCommand,
  folders: Folders,
  check: PathCheck,
): Promise<Verdict> {
  const access = isReadOnlyWords(command) ? 'read' : 'edit';
  const verdicts: Verdict[] = [];
  for (const word of pathWords(command)) {
    const places = await placesOf(word, folders, check.place);
    if (places.length === 0 && hasPathRules(check)) {
      verdicts.push(ask(`what ${word.text} names is not known, and some files are guarded`));
    }
    for (const path of places) {
      verdicts.push(
        await (word.kind === 'glob'
          ? guardGlob(path, access, check)
          : guardPath(path, access, check)),
      );
    }
    if (word.kind !== 'glob' || !hasPathRules(check)) continue;
    for (const path of (await globbed(word, folders, check.place)).links) {
      verdicts.push(await guardPath(path, access, check));
    }
  }
  for (const { path, kind } of await readBelow(command, folders, check.place)) {
    verdicts.push(await guardAbove(path, kind, check.place));
  }
  return strictest(verdicts);
}

/** They tell names and sizes of what lies below a folder, never what stands in it. */
const tellsNames = new Set([
  ...['ls', 'cd', 'pushd', 'find', 'fd', 'tree', 'stat', 'du', 'df', 'test', '[', 'realpath'],
  ...['readlink', 'basename', 'dirname', 'mkdir', 'touch'],
]);
/** Without a path they search where they stand. */
const searches = new Set(['grep', 'egrep', 'fgrep', 'zgrep', 'rg']);

/** Where a command may read files that it does not name. */
async function readBelow(command: ShellCommand, folders: Folders, place: Place) {
  const program = programOf(command.words);
  const gitSearches = command.words.some(({ text }) => /^--(no-index|untracked)$/.test(text));
  const isOfNames = tellsNames.has(program) || (program === 'git' && !gitSearches);
  if (command.isWrapper || isOfNames) return [];
  const words = pathWords(command);
  const named = await Promise.all(
    words.map(async (word) =>
      (await placesOf(word, folders, place)).map((path) => ({
        path,
        kind: word.kind === 'glob' ? ('glob' as const) : ('path' as const),
      })),
    ),
  );
  const searchesHere = program === 'git' || (searches.has(program) && words.length === 0);
  const stands = searchesHere && folders !== 'unknown' ? folders : [];
  return [...named.flat(), ...stands.map((path) => ({ path, kind: 'path' as const }))];
}

const hasPathRules = ({ rules }: PathCheck) =>
  [...rules.deny, ...rules.ask].some(({ spec }) => spec.kind === 'path');

async function permitCommand(
  command: ShellCommand,
  folders: Folders,
  check: PathCheck,
): Promise<Verdict> {
  const rule = check.rules.allow.find((one) => allowsCommand(one, command));
  if (rule) return allow(byRule('allow', rule));
  if (!isReadOnlyWords(command)) return ask(`no rule allows \`${shown(command)}\``);
  const verdicts: Verdict[] = [allow(`\`${shown(command)}\` changes nothing`)];
  if (programOf(command.words) === 'git') verdicts.push(await permitGit(folders));
  for (const word of pathWords(command)) {
    const places = await placesOf(word, folders, check.place);
    if (places.length === 0 || word.kind === 'unknown') {
      verdicts.push(ask(`what ${word.text} names is not known`));
    }
    for (const path of places) {
      verdicts.push(await permitPath(literalPart(path, word), 'read', check));
    }
    if (word.kind === 'glob') verdicts.push(await permitGlobbed(word, folders, check));
  }
  return strictest(verdicts);
}

/** A link among what a glob finds leads elsewhere as one that is named. */
async function permitGlobbed(
  word: ShellWord,
  folders: Folders,
  check: PathCheck,
): Promise<Verdict> {
  const { links, doubt } = await globbed(word, folders, check.place);
  if (doubt !== undefined) return ask(doubt);
  return strictest(await Promise.all(links.map((path) => permitPath(path, 'read', check))));
}

/** A git that only looks still runs what its repository tells it to. */
async function permitGit(folders: Folders): Promise<Verdict> {
  if (folders === 'unknown') return ask('in which repository git looks is not known');
  const doubts = await Promise.all(folders.map(repositoryDoubt));
  const doubt = doubts.find((one) => one !== undefined);
  return doubt === undefined ? silent : ask(doubt);
}

/** Names that a glob finds lie below its part without wildcards. */
const literalPart = (path: string, word: ShellWord) =>
  word.kind === 'glob' ? path.replace(/[^/]*[*?[][\s\S]*$/, '') || '/' : path;

/** A rule for what starts a command counts for the command only if it names it as well. */
function allowsCommand({ tool, spec }: Rule, command: ShellCommand): boolean {
  if (tool !== 'Bash') return false;
  if (spec.kind === 'any') return true;
  if (spec.kind !== 'command') return false;
  if (allowsWords(spec.pattern, textsOf(command.words)) !== undefined) return true;
  const { startedBy } = command;
  if (!startedBy) return false;
  const named = allowsWords(spec.pattern, textsOf(startedBy.command.words));
  return named !== undefined && named > startedBy.at;
}

async function judgeRedirect(
  { direction, target }: ShellRedirect,
  folders: Folders,
  check: PathCheck,
): Promise<ShellJudgement> {
  const access = direction === 'read' ? 'read' : 'edit';
  const places = await placesOf(target, folders, check.place);
  if (places.length === 0) {
    return { against: silent, permit: ask(`where ${target.text} leads is not known`) };
  }
  const against = await Promise.all(places.map((path) => guardPath(path, access, check)));
  const permits = await Promise.all(places.map((path) => permitPath(path, access, check)));
  return { against: strictest(against), permit: strictest(permits) };
}

async function foldersOf({ commands }: ShellReading, place: Place): Promise<Folders> {
  let folders: readonly string[] = [place.cwd];
  for (const { words } of commands) {
    if (!['cd', 'pushd', 'popd'].includes(programOf(words))) continue;
    const target = words.find(({ text }, index) => index > 0 && !/^-[LPe@]+$|^--$/.test(text));
    const to: ShellWord = target ?? { text: place.home, kind: 'literal' };
    if (to.kind !== 'literal' || to.text === '-' || /^[+-]\d/.test(to.text)) return 'unknown';
    folders = [...new Set([...folders, ...(await placesOf(to, folders, place))])];
    if (folders.length > FOLDERS_MAX || programOf(words) === 'popd') return 'unknown';
  }
  return folders;
}
