/** What the host hears while the engine itself works for it, beside the loop. */
import type { QueryScope } from './query-scope.ts';
import { safely } from './run-query.ts';
import type { SDKMessage } from './wire.ts';

/**
 * Messages of the scope, until the work is done.
 * @param leave called when the host does not hear it to the end.
 * @param keep takes what was done, also then: it stands all the same.
 */
export async function* heardWhile<T>(
  work: Promise<T>,
  scope: QueryScope,
  leave: () => void,
  keep: (done: T) => void,
): AsyncGenerator<SDKMessage, T, unknown> {
  const working = work.finally(() => scope.queue.end());
  working.catch(() => {}); // awaited below, after the last message was read
  let isHeard = false;
  try {
    yield* safely(scope.queue, scope.session.transcript);
    isHeard = true;
  } finally {
    if (!isHeard) leave();
    keep(await working);
  }
  return working;
}
