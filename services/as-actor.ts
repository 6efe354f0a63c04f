/**
 * How a plain function becomes an actor of the chart. The only file of the services that knows
 * XState.
 */
import { fromCallback, fromPromise } from 'xstate';
import type { QueryEvent } from '../machines/events.ts';
import type { QueryState } from '../machines/state.ts';

/** One question, one answer, which is an event of the chart's alphabet. */
export type Ask<E extends QueryEvent = QueryEvent> = (
  state: QueryState,
  signal: AbortSignal,
) => Promise<E>;

/** @see Ask. A rejection reaches the chart as `onError`, a bug of the service. */
export const question = <E extends QueryEvent>(ask: Ask<E>) =>
  fromPromise<E, QueryState>(({ input, signal }) => ask(input, signal));

export interface Line<Command> {
  readonly state: QueryState;
  /** To the chart. Ignored once the chart has hung up. */
  readonly send: (event: QueryEvent) => void;
  /** From the chart. */
  readonly onCommand: (listener: (command: Command) => void) => void;
  /** Aborted when the chart hangs up, or ends. */
  readonly signal: AbortSignal;
}

/** Told to itself by a conversation whose function has thrown. */
const BROKEN = 'conversation.broken';

/**
 * Many events over a life. `fromCallback` swallows what an async function throws, so the bug is
 * reported here.
 * @param onBug says it in words of the alphabet. Without it the actor fails, and the chart hears
 * `onError`: what an actor throws while it takes an event is the one error that XState passes on.
 * @param onSettled told with the promise of each life: the engine waits for the last words
 * (usage of a broken stream) before it writes its result.
 */
export const conversation = <Command extends { type: string }>(
  talk: (line: Line<Command>) => Promise<void>,
  onBug: ((error: unknown, send: (event: QueryEvent) => void) => void) | undefined,
  onSettled: (life: Promise<void>) => void = () => {},
) =>
  fromCallback<Command, QueryState>(({ input, sendBack, receive, self }) => {
    const hungUp = new AbortController();
    const send = sendBack as (event: QueryEvent) => void;
    const fail = (error: unknown) => {
      if (hungUp.signal.aborted) return; // nobody waits for it any more
      hungUp.abort(); // XState cleans up after an actor that is stopped, not after one that fails
      receive((command) => {
        if (command.type === BROKEN) throw error;
      });
      self.send({ type: BROKEN } as Command);
    };
    const life = talk({
      state: input,
      send,
      onCommand: (listener) =>
        receive((command) => {
          if (hungUp.signal.aborted) return;
          try {
            listener(command);
          } catch (error) {
            hungUp.abort();
            throw error; // the actor fails with it
          }
        }),
      signal: hungUp.signal,
    }).catch((error: unknown) => (onBug ? onBug(error, send) : fail(error)));
    onSettled(life);
    return () => hungUp.abort();
  });
