/**
 * The engine's own folder (`$ESCAPEMENT_HOME`), wherever it lies: its settings and sessions are not
 * changed unasked, and what it hides (the grants of servers) is nobody's to read.
 */
import { existsSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import {
  absolute,
  isInside,
  lookAt,
  type Place,
  type SeenPath,
  shellGlobMatches,
} from './paths.ts';
import { ask, deny, silent, type Verdict } from './verdict.ts';

export interface OwnFolder {
  /** Absolute. */
  readonly folder: string;
  /** Absolute, below it. No rule, mode or answer opens them. */
  readonly hidden: readonly string[];
}

const isHiddenHere = (path: string) =>
  deny(`the engine itself: ${path} holds what servers granted`);

/** What a process was started with, ours too: the key of the model stands there. */
const startedWith = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?environ$/;
const isStartedWith = (path: string) =>
  deny(`the engine itself: ${path} shows what a process was started with, keys among it`);

/** In every mode: neither reading nor changing. */
export async function guardHidden(path: string, place: Place): Promise<Verdict> {
  const { written, real } = await lookAt(path, place);
  if (startedWith.test(written) || startedWith.test(real)) return isStartedWith(path);
  const { hidden = [] } = place.own ?? {};
  if (hidden.length === 0) return silent;
  return (await isInside(await lookAt(path, place), hidden, place)) ? isHiddenHere(path) : silent;
}

/**
 * The same for names that a shell will put in the place of a glob. Links are followed in the part before the first wildcard.
 */
export async function guardHiddenGlob(glob: string, place: Place): Promise<Verdict> {
  const ours = `/proc/${process.pid}/environ`;
  if (shellGlobMatches(absolute(glob, place), ours)) return isStartedWith(glob);
  for (const one of await globReaches(glob, place)) {
    if (one === 'inside') return isHiddenHere(glob);
  }
  return silent;
}

/** For programs that read whatever lies below a word: it may hold what is hidden. */
export async function guardAbove(
  word: string,
  kind: 'glob' | 'path',
  place: Place,
): Promise<Verdict> {
  const there = (place.own?.hidden ?? []).filter((folder) => existsSync(folder));
  if (there.length === 0) return silent;
  const isAbove =
    kind === 'glob'
      ? (await globReaches(word, place)).includes('above')
      : await holdsOneOf(there, word, place);
  return isAbove ? ask(`${word} holds what servers have granted to the engine`, true) : silent;
}

async function holdsOneOf(folders: readonly string[], word: string, place: Place) {
  for (const folder of folders) {
    if (await isInside(await lookAt(folder, place), [word], place)) return true;
  }
  return false;
}

/** How far a glob can come: step by step against the steps of what is hidden. */
async function globReaches(word: string, place: Place): Promise<readonly ('inside' | 'above')[]> {
  const glob = absolute(word, place);
  const first = glob.search(/[*?[\\]/);
  const literal = first < 0 ? glob : dirname(`${glob.slice(0, first)}x`);
  const rest = glob.slice(literal.length).replace(/^\/+/, '');
  const forms = [glob, join((await lookAt(literal, place)).real, rest)];
  const reached: ('inside' | 'above')[] = [];
  for (const folder of place.own?.hidden ?? []) {
    const { written, real, isFolded } = await lookAt(folder, place);
    for (const form of forms) {
      for (const target of new Set([written, real])) {
        const [globbed, steps] = [stepsOf(form, isFolded), stepsOf(target, isFolded)];
        const shared = Math.min(globbed.length, steps.length);
        if (!shellGlobMatches(prefix(globbed, shared), prefix(steps, shared))) continue;
        reached.push(globbed.length < steps.length ? 'above' : 'inside');
      }
    }
  }
  return reached;
}

const stepsOf = (path: string, isFolded: boolean) =>
  (isFolded ? path.toLowerCase() : path).replace(/\/+$/, '').split(sep);
const prefix = (steps: readonly string[], count: number) => steps.slice(0, count).join(sep);

/**
 * Whether a change needs to be asked about. A session that works inside of the folder works on its
 * own files: those are not the engine's. @returns what protects it.
 */
export async function protectingFolder(path: SeenPath, place: Place): Promise<string | undefined> {
  if (!place.own) return undefined;
  const { folder } = place.own;
  if (!(await isInside(path, [folder], place))) return undefined;
  const root = place.root ?? place.cwd;
  const seenRoot = await lookAt(root, place);
  const worksInside = await isInside(seenRoot, [folder], place);
  const isFolder = await isInside(await lookAt(folder, place), [root], place);
  const isOfSession = worksInside && !isFolder && (await isInside(path, [root], place));
  return isOfSession ? undefined : folder.toLowerCase();
}
