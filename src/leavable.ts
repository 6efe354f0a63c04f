/** A generator that is left while one of its messages is awaited. */

/**
 * The same generator, whose `return`, `throw` and `Symbol.asyncDispose` stop what runs before they
 * leave. A generator alone hears of them with its next message only, and none may ever come.
 * @param stop *Contract:* never throws; harmless when nothing runs, and when it is called again. What
 * it returns is waited for: only what ends by itself.
 */
export function leavable<T, R>(
  messages: AsyncGenerator<T, R, unknown>,
  stop: () => void | Promise<void>,
): AsyncGenerator<T, R, unknown> & { [Symbol.asyncDispose](): Promise<void> } {
  const leave = messages.return.bind(messages);
  const fail = messages.throw.bind(messages);
  return Object.assign(messages, {
    return: async (value: R | PromiseLike<R>) => {
      await stop();
      return leave(value);
    },
    throw: async (error: unknown) => {
      await stop();
      return fail(error);
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      await leave(undefined as R);
    },
  });
}
