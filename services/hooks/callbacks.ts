/** The `hooks` option of a host: functions by event, in the Agent SDK's shape. */
import { hookLimits, timeoutMaxMsOf } from './limits.ts';
import { readMatcher } from './matcher.ts';
import type { CallbackHook, HookCallback } from './registration.ts';
import { type HookEvent, hookEvents } from './types.ts';

export interface HookCallbackMatcher {
  readonly matcher?: string | undefined;
  /** Seconds. */
  readonly timeout?: number | undefined;
  readonly onFailure?: 'continue' | 'block' | undefined;
  readonly hooks: readonly HookCallback[];
}

/** *Contract:* never throws; what cannot be used is told in words. */
export const readHookCallbacks = (
  callbacks: Partial<Record<HookEvent, readonly HookCallbackMatcher[] | undefined>> = {},
): { hooks: readonly CallbackHook[]; errors: readonly string[] } => {
  const errors: string[] = [];
  const hooks = Object.entries(callbacks).flatMap(([name, groups = []]) => {
    const event = hookEvents.find((known) => known === name);
    if (!event) {
      errors.push(`hooks.${name} is no event that this engine has: its callbacks never run`);
      return [];
    }
    return groups.flatMap((group, i): readonly CallbackHook[] => {
      const matcher = readMatcher(group.matcher);
      if (!matcher.ok) {
        errors.push(`hooks.${event}[${i}].matcher is no regular expression: ${matcher.message}`);
        return [];
      }
      const wishedMs = group.timeout === undefined ? undefined : group.timeout * 1_000;
      return group.hooks.map((run) => ({
        kind: 'callback',
        event,
        source: 'callback',
        matches: matcher.matches,
        timeoutMs: Math.min(
          wishedMs && wishedMs > 0 ? wishedMs : hookLimits.timeoutDefaultMs,
          timeoutMaxMsOf(event, false),
        ),
        onFailure: group.onFailure ?? 'continue',
        run,
      }));
    });
  });
  return { hooks, errors };
};
