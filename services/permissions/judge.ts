/**
 * Rules and mode alone: what may run, what may not, what somebody has to be asked about.
 *
 * In this order: deny rules; ask rules; rules that cannot be read; the mode bypassPermissions; what
 * touches nothing; the mode plan; allow rules and the place of files; everything else asks. Deny
 * rules and ask rules hold in every mode.
 */
import { resolve } from 'node:path';
import type { Tool, ToolInput, Touches } from '../tools/tool.ts';
import { type Access, byRule, guardPath, type PathCheck, permitPath } from './judge-paths.ts';
import { judgeShell } from './judge-shell.ts';
import type { OwnFolder } from './own-folder.ts';
import { diskFileSystem, type FileSystem } from './paths.ts';
import { describeProblem, namesTool, type ParsedRules, type Rule, rulesOf } from './rules.ts';
import { loadShellParser } from './shell/parser.ts';
import { isReadOnlyReading } from './shell/read-only.ts';
import { readShell } from './shell/reading.ts';
import type { Judge, PermissionDecision, ToolPermissionContext } from './types.ts';
import { allow, ask, deny, silent, strictest, type Verdict } from './verdict.ts';

export interface JudgeOptions {
  /** Absolute. What `~` stands for. */
  readonly home: string;
  /**
   * Absolute: the folder of the session. Rules hang from it and it counts as inside, wherever a
   * shell has moved to. Default: where the call is made.
   */
  readonly root?: string;
  /** Folders of the session whose files may be read unasked: results that were moved to files. */
  readonly readableFolders?: () => readonly string[];
  /** The engine's own, which no tool reads or changes unasked. */
  readonly own?: OwnFolder;
  readonly fileSystem?: FileSystem;
}

interface Look {
  readonly tool: Tool;
  readonly input: ToolInput;
  readonly touches: Touches;
  readonly rules: ParsedRules;
  readonly context: ToolPermissionContext;
  readonly paths: PathCheck;
}

/** @returns a judge that looks at the disk only for real paths. */
export const createJudge =
  (options: JudgeOptions): Judge =>
  async (tool, input, context, cwd) => {
    const rules = rulesOf(context);
    const root = options.root ?? cwd;
    const folders = [root, ...context.additionalDirectories.map((one) => resolve(root, one))];
    const { home, own, fileSystem = diskFileSystem } = options;
    const paths: PathCheck = {
      rules,
      place: { cwd, root, home, fileSystem, seen: new Map(), ...(own ? { own } : {}) },
      readable: [...folders, ...(options.readableFolders?.() ?? [])],
      editable: context.mode === 'acceptEdits' ? folders : [],
      tool: tool.name,
    };
    return decide({ tool, input, touches: touchesOf(tool, input), rules, context, paths });
  };

/** A tool that cannot say what it touches may touch anything. */
const touchesOf = (tool: Tool, input: ToolInput): Touches => {
  try {
    return tool.touches(input);
  } catch {
    return { kind: 'unknown' };
  }
};

async function decide(look: Look): Promise<PermissionDecision> {
  const { tool, context } = look;
  const { against, permit } = await judgeContent(look);
  const guard = strictest([guardByName(look), against, unreadableGuard(look)]);
  if (guard.kind === 'deny') return denied(tool, guard.because);
  if (guard.kind === 'ask' && guard.isFirm) return asked(look, guard.because, true);
  if (context.mode === 'bypassPermissions') {
    return { behavior: 'allow', because: 'the mode bypassPermissions' };
  }
  if (look.touches.kind === 'nothing') {
    return { behavior: 'allow', because: `${tool.name} touches nothing outside of the session` };
  }
  if (context.mode === 'plan' && !(await isOnlyReading(look))) {
    const because = 'the mode plan, in which only reading is allowed';
    return denied(tool, because);
  }
  if (guard.kind === 'ask') return asked(look, guard.because, false);
  return permit.kind === 'allow'
    ? { behavior: 'allow', because: permit.because }
    : asked(look, permit.kind === 'silent' ? 'no rule allows it' : permit.because, false);
}

const denied = (tool: Tool, because: string): PermissionDecision => ({
  behavior: 'deny',
  message: `${tool.name} was not run: denied by ${because}.`,
  because,
});

const asked = ({ tool, context }: Look, because: string, isFirm: boolean): PermissionDecision =>
  context.mode === 'dontAsk'
    ? {
        ...denied(tool, `the mode dontAsk, since it would have to be asked about: ${because}`),
        ...(isFirm ? {} : { isUnasked: true }),
      }
    : { behavior: 'ask', because, ...(isFirm ? { isFirm } : {}) };

/** Does a rule without a word on the inside of a call mean this tool? */
function meansTool(rule: Rule, { tool, touches }: Look): boolean {
  if (rule.spec.kind !== 'any') return false;
  if (namesTool(rule, tool.name)) return true;
  const isFamily = tool.isExternal !== true && (touches.kind === 'read' || touches.kind === 'edit');
  return isFamily && rule.tool === (touches.kind === 'read' ? 'Read' : 'Edit');
}

function guardByName(look: Look): Verdict {
  const denies = look.rules.deny.find((rule) => meansTool(rule, look));
  if (denies) return deny(byRule('deny', denies));
  const asks = look.rules.ask.find((rule) => meansTool(rule, look));
  return asks ? ask(byRule('ask', asks), true) : silent;
}

/** A rule that allows the tool, whatever the call is. */
function permitByName(look: Look): Verdict | undefined {
  const rule = look.rules.allow.find((one) => meansTool(one, look));
  return rule && allow(byRule('allow', rule));
}

/** A guard that cannot be read might have been meant for this call. */
function unreadableGuard({ rules, tool, touches }: Look): Verdict {
  const names = [
    tool.name,
    ...(touches.kind === 'read' ? ['Read'] : []),
    ...(touches.kind === 'edit' ? ['Edit', 'Read'] : []),
  ];
  const problem = rules.problems.find(({ kind, text }) => {
    if (kind === 'allow') return false;
    const name = /^\s*([A-Za-z][\w-]*)\(/.exec(text)?.[1];
    return name === undefined || names.includes(name) || tool.name.startsWith(name);
  });
  return problem ? ask(describeProblem(problem), true) : silent;
}

interface ContentJudgement {
  readonly against: Verdict;
  readonly permit: Verdict;
}

async function judgeContent(look: Look): Promise<ContentJudgement> {
  const { touches, paths } = look;
  const byName = permitByName(look);
  const check = byName ? { ...paths, allowedByName: byName } : paths;
  switch (touches.kind) {
    case 'read':
    case 'edit':
      return judgeFiles(touches.paths, touches.kind, check);
    case 'shell':
      return judgeShell(touches.command, withoutTool(paths));
    case 'fetch':
    case 'nothing':
    case 'unknown':
      return byWords(look, look.rules, byName);
  }
}

/** Rules for files by the name of a tool mean that tool alone, not what a shell does. */
const withoutTool = ({ tool: _, ...rest }: PathCheck): PathCheck => rest;

async function judgeFiles(
  given: readonly string[],
  access: Access,
  check: PathCheck,
): Promise<ContentJudgement> {
  const paths = given.length > 0 ? given : ['.'];
  const against = await Promise.all(paths.map((path) => guardPath(path, access, check)));
  const permits = await Promise.all(paths.map((path) => permitPath(path, access, check)));
  return { against: strictest(against), permit: strictest(permits) };
}

/** Rules about an address, or about the value of a parameter. */
function byWords(
  { tool, input, touches }: Look,
  rules: ParsedRules,
  byName: Verdict | undefined,
): ContentJudgement {
  const host = touches.kind === 'fetch' ? hostOf(touches.url) : undefined;
  const values = Object.values(input).filter((value) => typeof value === 'string');
  const isMeant = ({ tool: name, spec }: Rule) =>
    name === tool.name &&
    (spec.kind === 'domain'
      ? host !== undefined && isHost(spec.host, host)
      : spec.kind === 'text' && values.includes(spec.text));
  const denies = rules.deny.find(isMeant);
  const asks = rules.ask.find(isMeant);
  const allows = rules.allow.find(isMeant);
  const against = asks ? ask(byRule('ask', asks), true) : silent;
  const permit = allows
    ? allow(byRule('allow', allows))
    : ask(`no rule allows ${host ?? tool.name}`);
  return { against: denies ? deny(byRule('deny', denies)) : against, permit: byName ?? permit };
}

const hostOf = (url: string): string | undefined => {
  try {
    return new URL(url).hostname.toLowerCase().replace(/\.$/, '');
  } catch {
    return undefined;
  }
};
/** `*.example.org`: every host below it. */
const isHost = (pattern: string, host: string) =>
  pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === '*' || pattern === host;

async function isOnlyReading({ tool, input, touches }: Look): Promise<boolean> {
  switch (touches.kind) {
    case 'read':
    case 'fetch':
    case 'nothing':
      return true;
    case 'edit':
      return false;
    case 'shell':
      await loadShellParser();
      return isReadOnlyReading(readShell(touches.command));
    case 'unknown':
      return tool.isReadOnly(input);
  }
}
