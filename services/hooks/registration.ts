/** A hook as it is kept: where it comes from, when it runs, what it does. */
import type { HookEvent, HookInput, HookOutput } from './types.ts';

export type HookSource = 'managed' | 'user' | 'project' | 'local' | 'flag' | 'plugin' | 'callback';

/** A function of the host. A throw counts as a failure of the hook. */
export type HookCallback = (
  input: HookInput,
  toolUseId: string | undefined,
  options: { readonly signal: AbortSignal },
) => Promise<HookOutput>;

interface Registration {
  readonly event: HookEvent;
  readonly source: HookSource;
  /** Of the tool's name, the source, the trigger: whatever the event is matched by. */
  readonly matches: (query: string) => boolean;
  readonly timeoutMs: number;
  /** What a failure (no answer, no sense) means: `block` fails closed. */
  readonly onFailure: 'continue' | 'block';
}
export interface CommandHook extends Registration {
  readonly kind: 'command';
  readonly command: string;
  /** A permission rule, such as `Bash(git push:*)`: the hook runs only for calls that it fits. */
  readonly condition: string | undefined;
  /** On top of the environment of every hook. */
  readonly env?: Readonly<Record<string, string>>;
  /** Nobody waits for it, and it cannot change anything. */
  readonly isAsync: boolean;
}
export interface CallbackHook extends Registration {
  readonly kind: 'callback';
  readonly run: HookCallback;
}
export type HookRegistration = CommandHook | CallbackHook;

/** A failure of such a hook says no. Policy of an organisation is not skipped by breaking it. */
export const failsClosed = ({ onFailure, source, event }: HookRegistration): boolean =>
  onFailure === 'block' || (source === 'managed' && event === 'PreToolUse');

/** For people: the command, cut, or where the function comes from. */
export const nameOf = (hook: HookRegistration): string =>
  hook.kind === 'callback' ? `${hook.event} callback` : `${hook.event} hook \`${hook.command}\``;
