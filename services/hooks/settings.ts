/**
 * Reads the `hooks` of a settings file, in Claude Code's shape. Only what is whole becomes a hook;
 * everything else is told, with its place and its cure.
 */
import { isRecord } from '../is-record.ts';
import { hookLimits, timeoutMaxMsOf } from './limits.ts';
import { readMatcher } from './matcher.ts';
import type { CommandHook, HookSource } from './registration.ts';
import { type HookEvent, hookEvents } from './types.ts';

/** What is wrong in a settings file. */
export interface HookSettingsError {
  readonly file: string;
  /** `hooks.PreToolUse[0].hooks[1].timeout`. */
  readonly path: string;
  readonly message: string;
  readonly remedy: string;
}

export interface HookSettingsFile {
  readonly source: Exclude<HookSource, 'callback'>;
  readonly file: string;
  /** The value of the key `hooks`, as JSON gave it. */
  readonly hooks: unknown;
  /** For these commands, on top of the environment of every hook. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Hooks in the order of the file. *Contract:* never throws. */
export const readHookSettings = (
  settings: HookSettingsFile,
): { hooks: readonly CommandHook[]; errors: readonly HookSettingsError[] } => {
  const errors: HookSettingsError[] = [];
  const complain: Complain = (path, message, remedy) => {
    errors.push({ file: settings.file, path, message, remedy });
    return [];
  };
  if (settings.hooks === undefined || settings.hooks === null) return { hooks: [], errors };
  if (!isRecord(settings.hooks)) {
    complain('hooks', 'is no object', 'write { "PreToolUse": [ … ] }');
    return { hooks: [], errors };
  }
  const hooks = Object.entries(settings.hooks).flatMap(([name, groups]) => {
    const path = `hooks.${name}`;
    const event = hookEvents.find((known) => known === name);
    if (!event) return complain(path, 'is no event', `known are ${hookEvents.join(', ')}`);
    if (!Array.isArray(groups)) return complain(path, 'is no list', GROUP);
    return groups.flatMap((group: unknown, i) =>
      readGroup({ ...settings, event, group, path: `${path}[${i}]`, complain }),
    );
  });
  return { hooks, errors };
};

type Complain = (path: string, message: string, remedy: string) => never[];
const GROUP = 'write [ { "matcher": "Bash", "hooks": [ { "type": "command", "command": "…" } ] } ]';

interface Place {
  readonly event: HookEvent;
  readonly path: string;
  readonly source: CommandHook['source'];
  readonly env?: CommandHook['env'];
  readonly complain: Complain;
}

const readGroup = ({ group, ...place }: Place & { group: unknown }): readonly CommandHook[] => {
  const { path, complain } = place;
  if (!isRecord(group)) return complain(path, 'is no object', GROUP);
  const { matcher: text, hooks } = group;
  if (text !== undefined && typeof text !== 'string') {
    return complain(`${path}.matcher`, 'is no text', 'write a name, "A|B", or "*"');
  }
  const matcher = readMatcher(text);
  if (!matcher.ok) {
    const message = `is no regular expression: ${matcher.message}`;
    return complain(`${path}.matcher`, message, 'correct it, or write names as "A|B"');
  }
  if (!Array.isArray(hooks)) return complain(`${path}.hooks`, 'is no list', GROUP);
  return hooks.flatMap((hook: unknown, i) =>
    readHook({ ...place, hook, matches: matcher.matches, path: `${path}.hooks[${i}]` }),
  );
};

const readHook = ({
  hook,
  matches,
  ...place
}: Place & { hook: unknown; matches: CommandHook['matches'] }): readonly CommandHook[] => {
  const { event, source, env, path, complain } = place;
  if (!isRecord(hook)) return complain(path, 'is no object', GROUP);
  const { type, command, timeout, onFailure = 'continue', async: isAsync = false } = hook;
  const { if: condition } = hook;
  if (type !== 'command') {
    return complain(`${path}.type`, `is ${JSON.stringify(type)}`, 'only "command" is known here');
  }
  if (typeof command !== 'string' || command.trim() === '') {
    return complain(`${path}.command`, 'is no command', 'write a shell command as text');
  }
  if (timeout !== undefined && !(typeof timeout === 'number' && timeout > 0)) {
    return complain(`${path}.timeout`, 'is no number above 0', 'write seconds, such as 30');
  }
  if (onFailure !== 'continue' && onFailure !== 'block') {
    return complain(`${path}.onFailure`, 'is unknown', 'write "continue" or "block"');
  }
  if (typeof isAsync !== 'boolean') {
    return complain(`${path}.async`, 'is neither true nor false', 'write true or false');
  }
  if (condition !== undefined && typeof condition !== 'string') {
    return complain(`${path}.if`, 'is no text', 'write a rule, such as "Bash(git push:*)"');
  }
  const wishedMs = (timeout ?? hookLimits.timeoutDefaultMs / 1_000) * 1_000;
  const timeoutMs = Math.min(wishedMs, timeoutMaxMsOf(event, isAsync));
  if (timeoutMs < wishedMs) {
    const bound = `at most ${timeoutMs / 1_000} for ${event}`;
    complain(`${path}.timeout`, `is lowered to ${timeoutMs / 1_000} s`, bound);
  }
  const common = { event, source, matches, timeoutMs, onFailure } as const;
  const own = env ? { env } : {};
  return [{ ...common, ...own, kind: 'command', command, condition, isAsync }];
};
