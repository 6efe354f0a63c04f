/**
 * A session heard again: the chart alone, without services, model or disk, takes the events that
 * stand in the session's file. The same events give the same run.
 */
import type { AnyEventObject } from 'xstate';
import type { QueryEvent, QueryOutput } from '../../machines/events.ts';
import type { TerminalReason } from '../../machines/reasons.ts';
import type { QueryInput, QueryState } from '../../machines/state.ts';
import { isRecord } from '../../services/is-record.ts';
import { silentChart } from '../silent-chart.ts';

/** One query of a session: what it began with, and all that its chart heard. */
export interface RecordedQuery {
  readonly queryId: string;
  readonly input: QueryInput;
  readonly events: readonly AnyEventObject[];
}

/** What became of it. */
export interface ReplayedQuery {
  /** `undefined`: the record ends before the query does. */
  readonly reason: TerminalReason | undefined;
  /** Reasons for which it went on. */
  readonly transitions: readonly string[];
  /** Events that came after its end, and changed nothing. */
  readonly unheard: number;
  readonly state: QueryState;
}

/** The queries in a session's file (JSON lines), agents' too, in the order in which they began. */
export function recordedQueries(transcript: string): readonly RecordedQuery[] {
  const queries = new Map<string, { input: QueryInput; events: AnyEventObject[] }>();
  for (const line of transcript.split('\n')) {
    const record = lineOf(line);
    const { type, queryId } = record;
    if (typeof queryId !== 'string') continue;
    if (type === 'query') queries.set(queryId, { input: record.input as QueryInput, events: [] });
    if (type === 'event') queries.get(queryId)?.events.push(record.event as AnyEventObject);
  }
  return [...queries].map(([queryId, query]) => ({ queryId, ...query }));
}

/** A line that was cut by a crash is no record. */
function lineOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const record: unknown = JSON.parse(line);
    return isRecord(record) ? record : {};
  } catch {
    return {};
  }
}

/**
 * Lets the chart hear it all again. Takes no time, asks nobody, changes nothing.
 *
 * @example
 * for (const query of recordedQueries(readFileSync(file, 'utf8'))) {
 *   console.log(replayQuery(query).reason);
 * }
 */
export function replayQuery({ input, events }: RecordedQuery): ReplayedQuery {
  const actor = silentChart(input);
  const transitions: string[] = [];
  actor.on('*', (word: QueryOutput) => {
    if (word.type === 'transition' && word.reason !== undefined) transitions.push(word.reason);
  });
  actor.start();
  let unheard = 0;
  for (const event of events) {
    if (actor.getSnapshot().status === 'active') actor.send(event as QueryEvent);
    else unheard += 1;
  }
  const { context: state, output } = actor.getSnapshot();
  actor.stop();
  return { reason: output?.reason, transitions, unheard, state };
}
