/** Waits for work, or for the signal, whichever comes first. The work goes on by itself. */
export async function orAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let onAbort = () => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = () => resolve();
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, aborted]);
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
  let answer: T | undefined;
  const asking = ask(signal).then((given) => {
    answer = given;
  });
  await orAborted(asking, signal);
  return signal.aborted ? undefined : answer;
}
