/**
 * Hooks of a host by event, at both doors (options, `initialize`). The official SDK has events that
 * are not here: a hook that would guard something is refused, of one that would listen it is told.
 */
import { type HookEvent, hookEvents } from '../services/hooks/types.ts';
import { isRecord } from '../services/is-record.ts';
import { type Check, guardedFieldsOf, isList, listOf } from './checks.ts';

/** Events of the official SDK whose hooks hold something back, and what does so here. */
const foreignGuards: Readonly<Record<string, string>> = {
  PermissionRequest: 'use PreToolUse or canUseTool',
  PermissionDenied: 'use PreToolUse, or read permission_denials of the result',
  PreSkillShellCommand: 'use PreToolUse, or disallow the tool Skill',
  UserPromptExpansion: 'use UserPromptSubmit',
  ConfigChange: 'settings are read once, when the session begins: remove it',
};

const isOurs = (name: string): name is HookEvent => hookEvents.some((event) => event === name);

/** The events with hooks that are never called here. An event without matchers asks for nothing. */
export const strangeEvents = (hooks: unknown): readonly string[] =>
  Object.entries(isRecord(hooks) ? hooks : {}).flatMap(([name, matchers]) => {
    const asksForNothing = matchers == null || (Array.isArray(matchers) && matchers.length === 0);
    return isOurs(name) || asksForNothing ? [] : [name];
  });

/** For people, of one of `strangeEvents`. */
export const neverCalled = (event: string): string =>
  `hooks of ${event} are never called: this event does not exist here`;

/** Ours alone: what is left has been refused or told before. */
export const ourHooks = <Hooks extends object>(hooks: Hooks): Hooks =>
  Object.fromEntries(Object.entries(hooks).filter(([name]) => isOurs(name))) as Hooks;

/** @param matcher what stands in the lists. */
export function hooksOf(matcher: Check): Check {
  const matchers = listOf('matchers', matcher);
  const ours = guardedFieldsOf({}, Object.fromEntries(hookEvents.map((one) => [one, matchers])));
  return (value, place) => [
    ...ours(value, place),
    ...strangeEvents(value).flatMap((event) => {
      const remedy = Object.hasOwn(foreignGuards, event) ? foreignGuards[event] : undefined;
      const given = isRecord(value) ? value[event] : undefined;
      if (remedy === undefined && !holdsBack(given)) return [];
      const words = 'this event does not exist here, and its hooks would guard nothing';
      return [`${place}.${event}: ${words}${remedy === undefined ? '' : `: ${remedy}`}`];
    }),
  ];
}

/** A host that says so of any event relies on being asked. */
const holdsBack = (matchers: unknown): boolean =>
  isList(matchers) &&
  (matchers as readonly unknown[]).some(
    (one) => isRecord(one) && one.onFailure != null && one.onFailure !== 'continue',
  );
