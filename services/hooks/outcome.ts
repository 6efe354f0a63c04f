/** What became of one hook. */
import type { HookRegistration } from './registration.ts';
import type { HookEvent, HookOutput } from './types.ts';

export type HookOutcome =
  /** It said something in JSON; complaints are about the fields that could not be used. */
  | { readonly kind: 'said'; readonly output: HookOutput; readonly complaints: readonly string[] }
  /** Exit code 2: what stood on stderr. */
  | { readonly kind: 'objected'; readonly reason: string }
  /** Plain text on stdout, where that is context for the model. */
  | { readonly kind: 'context'; readonly text: string }
  | { readonly kind: 'silent' }
  /** No answer, or one without sense. */
  | { readonly kind: 'failed'; readonly detail: string }
  /** The turn was aborted meanwhile. */
  | { readonly kind: 'aborted' };

export interface HookResult {
  readonly hook: HookRegistration;
  readonly outcome: HookOutcome;
}

/** Events at which plain text on stdout is for the model. */
export const takesText = (event: HookEvent): boolean =>
  event === 'UserPromptSubmit' || event === 'SessionStart';

/** Told afterwards: what a hook of these says changes nothing any more. */
const listeners: ReadonlySet<HookEvent> = new Set([
  'SessionEnd',
  'PostSampling',
  'StopFailure',
  'PostCompact',
  'Notification',
]);
export const onlyListens = (event: HookEvent): boolean => listeners.has(event);
