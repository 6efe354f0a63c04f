/** Runs a function of the host as a hook. */
import { messageOf } from '../message-of.ts';
import type { HookOutcome } from './outcome.ts';
import { readAnswer } from './read-said.ts';
import type { CallbackHook } from './registration.ts';
import type { HookInput } from './types.ts';

/**
 * *Contract:* never throws, and is over at the hook's timeout, or at once when the turn is aborted.
 * A function cannot be ended from outside: its signal is aborted, its late answer not listened to.
 */
export const runCallbackHook = async (
  hook: CallbackHook,
  input: HookInput,
  toolUseId: string | undefined,
  turn: AbortSignal,
): Promise<HookOutcome> => {
  if (turn.aborted) return { kind: 'aborted' };
  const own = new AbortController();
  const { promise, resolve } = deferred();
  const onAbort = () => resolve({ kind: 'aborted' });
  turn.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => {
    resolve({ kind: 'failed', detail: `no answer within ${hook.timeoutMs / 1_000} s` });
  }, hook.timeoutMs);
  const answer = call(hook, input, toolUseId, own.signal);
  const outcome = await Promise.race([answer, promise]);
  clearTimeout(timer);
  turn.removeEventListener('abort', onAbort);
  own.abort();
  return outcome;
};

const call = async (
  hook: CallbackHook,
  input: HookInput,
  toolUseId: string | undefined,
  signal: AbortSignal,
): Promise<HookOutcome> => {
  try {
    return await readAnswer(await hook.run(input, toolUseId, { signal }));
  } catch (error) {
    return { kind: 'failed', detail: messageOf(error) };
  }
};

const deferred = () => {
  let resolve: (outcome: HookOutcome) => void = () => {};
  const promise = new Promise<HookOutcome>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
};
