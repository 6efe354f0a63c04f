/**
 * Waits for work, or for the signal, whichever comes first. The work goes on by itself. There is no
 * other way here to wait for an abort: this one takes its listener off again.
 * @returns what the work gave; `undefined` when the signal came first.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  let onAbort = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * The answer of somebody who may never give one: a host, a person.
 * @param ask is given the signal; one that does not obey it is not waited for.
 * @returns `undefined` when the signal came first.
 * @throws as `ask` does, while it is waited for.
 */
export async function answerOrAborted<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const answer = await orAborted(ask(signal), signal);
  return signal.aborted ? undefined : answer;
}
