/** The API's own count of a prompt: exact, but a request, so it is asked near a limit only. */
import { buildCountRequest } from './request.ts';
import type { ModelClient, ModelRequest } from './types.ts';

/** A count that takes longer than an estimate is worth is not waited for. */
const COUNT_MS = 5_000;

/** Tokens of the prompt; `undefined` when nobody can say. Never throws. */
export type CountTokens = (request: ModelRequest) => Promise<number | undefined>;

export const createCountTokens =
  (client: ModelClient, countMs: number = COUNT_MS): CountTokens =>
  async (request) => {
    if (!client.messages.countTokens || request.signal.aborted) return undefined;
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(countMs)]);
    try {
      const late = new Promise<undefined>((resolve) => {
        signal.addEventListener('abort', () => resolve(undefined), { once: true });
      });
      const counting = client.messages.countTokens(buildCountRequest(request), { signal });
      // The loser must not become an unhandled rejection.
      const counted = Promise.resolve(counting).catch(() => undefined);
      const tokens = (await Promise.race([counted, late]))?.input_tokens;
      return typeof tokens === 'number' && tokens >= 0 ? tokens : undefined;
    } catch {
      return undefined;
    }
  };
