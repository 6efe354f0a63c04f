/** What the chart heard, as lines of the session: the same lines give the same run again. */
import type { InspectionEvent } from 'xstate';
import type { QueryInput } from '../machines/state.ts';
import type { Transcript } from '../services/journal/transcript.ts';

/**
 * Passes on what an inspector sees, and writes down what reached the chart itself. Messages stand
 * in the lines by their uuid: what they say has a line of its own.
 * @param onLost told of a line that could not be made. *Contract:* what is returned never throws:
 * thrown into XState in the middle of a step, it would leave an actor that hears nothing any more.
 */
export function journalEvents(
  transcript: Transcript,
  input: QueryInput,
  inspect: ((event: InspectionEvent) => void) | undefined,
  onLost: (error: Error) => void,
): (event: InspectionEvent) => void {
  const { queryId } = input;
  let n = 0;
  transcript.note('query', { queryId, input });
  return (seen) => {
    inspect?.(seen);
    if (seen.type !== '@xstate.event' || seen.actorRef.sessionId !== seen.rootId) return;
    const event = plain(seen.event);
    if (!event) return;
    try {
      transcript.note('event', { queryId, n, event });
    } catch (error) {
      onLost(error as Error);
    }
    n += 1;
  };
}

type Heard = InspectionEvent & { type: '@xstate.event' };

/** `undefined` for what every run begins with. Children are named by their place, not by chance. */
function plain(event: Heard['event']): Readonly<Record<string, unknown>> | undefined {
  if (event.type === 'xstate.init') return undefined;
  if (!event.type.startsWith('xstate.')) return event as Readonly<Record<string, unknown>>;
  const { type, output, error } = event as { type: string; output?: unknown; error?: unknown };
  return {
    type,
    ...(output === undefined ? {} : { output }),
    ...(error === undefined ? {} : { error: String(error) }),
  };
}
