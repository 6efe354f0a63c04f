/**
 * The worlds through which the generated paths lead: what may happen in each, as the chart hears
 * it, and what makes it happen around the real engine. Everything in here can be brought about by
 * a server, a tool, a hook, a person or a clock; only the faults of our own services are put in.
 */
import type { AnyEventObject, AnyMachineSnapshot, EventFromLogic } from 'xstate';
import { type QueryLimits, UNBOUNDED } from '../../machines/limits.ts';
import type { queryMachine } from '../../machines/query.machine.ts';
import type { QueryInput, QueryState } from '../../machines/state.ts';
import type { Outcome } from '../../src/testing/index.ts';
import { type Alphabet, leafOf, type Snapshot } from '../conformance/chart.ts';
import { all, faithful, pick, project, strict } from '../conformance/world.ts';

type Event = EventFromLogic<typeof queryMachine>;

export interface PathWorld {
  readonly name: string;
  readonly letters: Alphabet;
  /** Bounds, for the chart and for the engine alike. */
  readonly limits: Partial<QueryLimits>;
  readonly chart?: Partial<QueryInput>;
  /** Two long exchanges lie before the prompt: something to sum up. */
  readonly isLong?: boolean;
  /** Images in the prompt. */
  readonly images?: number;
  readonly gates?: Readonly<Record<string, boolean>>;
  readonly jsonSchema?: boolean;
  /** The file tool in place of the shell. */
  readonly readsFiles?: boolean;
  readonly isPossible?: (context: QueryState, event: Event, leaf: string) => boolean;
}

/** Small bounds: a counter that goes to 2 shows what one that goes to 10 does. */
const small: Partial<QueryLimits> = {
  turnsMax: 2,
  outputTokens: 8_000,
  outputTokensEscalated: 64_000,
  outputTokensMax: 64_000,
  outputResumesMax: 1,
  streamResumesMax: 1,
  pausesMax: 1,
  malformedMax: 1,
  emptyMax: 1,
  stopHookBlocksMax: 1,
  tokenNudgesMax: 1,
  schemaNudgesMax: 1,
  schemaTriesMax: 2,
  repeatsReminded: 2,
  repeatsMax: 2,
  compactFailuresMax: 1,
  rapidRefillsMax: 1,
  retriesMax: 1,
  overloadsMax: 2,
  questionsMax: 1,
  blocksMax: 100,
};
const none: Partial<QueryLimits> = { ...small, ...strict, outputTokens: 64_000 };
const priced: Partial<QueryLimits> = { ...small, usdMax: 1, outputUsdPerToken: 0.000015 };
const usual = ['opened', 'text', 'end_turn', 'ok', 'fits', 'passed'];
const only = (...names: readonly string[]) => pick(all, [...usual, ...names]);
const tools = ['call', 'tool_use', 'result', 'all answered', 'ready'];

const turnsEnd: Alphabet = {
  answers: {},
  heard: {
    'sampling.streaming': {
      // 66,000 and 100,000 tokens of output, at 15 dollars a million
      'tool_use, nearly all is spent': {
        ...(all.heard['sampling.streaming']?.tool_use as Extract<Event, { type: 'stream.ended' }>),
        usd: 0.99,
      },
      'tool_use, more than all is spent': {
        ...(all.heard['sampling.streaming']?.tool_use as Extract<Event, { type: 'stream.ended' }>),
        usd: 1.5,
      },
    },
  },
};
const withMore = (a: Alphabet, b: Alphabet): Alphabet => ({
  ...a,
  heard: {
    ...a.heard,
    'sampling.streaming': {
      ...a.heard['sampling.streaming'],
      ...b.heard['sampling.streaming'],
    },
  },
});

/** Natural ones first: a path with a fault is taken only where nothing else goes. */
export const worlds: readonly PathWorld[] = [
  {
    name: 'tools and people',
    limits: { ...small, turnsMax: 3 },
    letters: only(
      ...[...tools, 'result while streaming', 'asked while streaming', 'answered while streaming'],
      ...['asked', 'answered', 'stopped', 'deferred', 'refusal', 'abort', 'cut'],
    ),
  },
  {
    name: 'a round is described',
    limits: { ...small, turnsMax: 3 },
    chart: { emitToolUseSummaries: true },
    gates: { emitToolUseSummaries: true },
    letters: only(...tools, 'described'),
  },
  {
    name: 'answers that cannot stand',
    limits: small,
    readsFiles: true,
    letters: only(...tools, 'max_tokens', 'pause_turn', 'thinking'),
  },
  {
    name: 'transport and fallback',
    limits: { ...small, turnsMax: 1, retriesMax: 2 },
    chart: { fallbackModel: 'b' },
    letters: only(
      ...['overloaded', 'overloaded mid-stream', 'connection', 'auth', 'retry after an hour'],
      ...['cap too high', 'thinking', 'switched', 'failed', 'no collapse'],
    ),
  },
  {
    name: 'stop hooks and a token budget',
    limits: { ...small, tokenBudget: 1_000_000 },
    letters: only(...tools, 'blocked', 'prevented'),
  },
  {
    name: 'structured output',
    limits: { ...small, turnsMax: 3 },
    chart: { wantsSchema: true },
    jsonSchema: true,
    gates: { streamingToolExecution: false },
    letters: only(...tools, 'result, wrong shape', 'result, right shape'),
  },
  {
    name: 'the API finds the prompt too long',
    limits: { ...small, turnsMax: 1 },
    isLong: true,
    letters: only(
      ...[...tools, 'prompt too long', 'collapses committed', 'no collapse', 'done', 'failed'],
      'window exceeded',
    ),
  },
  {
    name: 'we find the prompt too long',
    limits: { ...small, turnsMax: 1 },
    isLong: true,
    gates: { autocompact: false },
    letters: only('too long', 'no collapse', 'done', 'failed'),
    // as it comes; what made it shorter has made it short enough
    isPossible: ({ iteration, withheld }, event) =>
      event.type !== 'stage.done' ||
      event.history.tokens < 1_000 ||
      (iteration === 1 && withheld === undefined),
  },
  {
    name: 'the window is full again and again',
    limits: small,
    isLong: true,
    letters: only(...tools, 'compacted'),
    // there must be something to sum up
    isPossible: ({ iteration, turnCount }, event) =>
      event.type !== 'stage.done' || !event.compaction || iteration === 1 || turnCount > 1,
  },
  {
    name: 'images',
    limits: { ...small, turnsMax: 1 },
    images: 2,
    letters: only(
      ...['request too large', 'bad image', 'stripped', 'stripped, some left', 'no collapse'],
      'failed',
    ),
    // half of the bytes go, or all that was refused
    isPossible: ({ withheld }, event) =>
      event.type !== 'media.stripped' ||
      event.left > 0 === (withheld?.class === 'request_too_large'),
  },
  {
    name: 'money',
    limits: priced,
    letters: withMore(only(...tools), turnsEnd),
    isPossible: ({ callCount }, event) => event.type !== 'stream.ended' || callCount > 0,
  },
  {
    name: 'money that an agent spends',
    // for one answer of 8,000 tokens at a time: with 12 cents put aside the next one has to wait
    limits: { ...priced, usdMax: 0.2, outputTokensMin: 7_000 },
    letters: only(...tools, 'over budget'),
    // An agent must have begun beside the loop; to wait for it counts as opened.
    isPossible: ({ turnCount }, event, leaf) =>
      event.type !== 'request.failed' || (turnCount > 1 && leaf === 'sampling.streaming'),
  },
  {
    name: 'an errand',
    limits: small,
    chart: { querySource: 'hook_agent' },
    letters: only('prompt too long'),
  },
  {
    name: 'faults, without second chances',
    limits: { ...none, durationMs: UNBOUNDED },
    letters: {
      ...only(
        ...[...tools, 'time is up', 'prompt too long', 'request too large', 'failed'],
        ...['absent', 'no collapse', 'cut'],
      ),
      faults: true,
    },
  },
  {
    name: 'a fallback that throws or hangs',
    limits: { ...none, overloadsMax: 1 },
    chart: { fallbackModel: 'b' },
    letters: { ...only('overloaded', 'switched'), faults: true },
  },
];

/** For the chart: what fits is a thousand of its tokens, all events of `world.ts` are so sized. */
export const inputOf = ({ limits, chart }: PathWorld): QueryInput => ({
  queryId: 'q',
  history: { head: '0/u', count: 1, tokens: 0 },
  model: 'a',
  startedAtMs: 0,
  ...chart,
  limits: { ...limits, windowTokens: 1_000 },
});

/**
 * Words that come too late, or twice: the result of a call and the answer to a question that are
 * not open, a question of a call that is not, one that is asked already. They may come wherever
 * calls run, and change nothing.
 */
export const staleIn = ({ openQuestions }: QueryState): readonly Event[] => [
  {
    type: 'tool.result',
    id: 'nobody',
    message: { uuid: 'stale', role: 'user', kind: 'tool_result', toolUseId: 'nobody' },
    fingerprint: 'stale',
  },
  { type: 'person.asked', question: 'stale', toolUseId: 'nobody', atMs: 1 },
  { type: 'person.answered', question: 'stale', atMs: 1 },
  ...openQuestions.map((open) => ({ type: 'person.asked' as const, ...open, atMs: 1 })),
];

const LIVE = ['callModel', 'toolExecutor', 'roundDescriber'];
/** The alphabet of a world, in the words of `coverTransitions`. */
export function outcomesOf({ letters }: PathWorld) {
  const outcomes: Record<string, Record<string, Outcome<Event, QueryState>>> = {};
  const fails = { throws: { error: new Error('boom') } };
  for (const [service, answers] of Object.entries(letters.answers)) {
    const said = Object.entries(answers).map(([name, output]) => [name, { output }] as const);
    outcomes[service] = { ...Object.fromEntries(said), ...(letters.faults ? fails : {}) };
  }
  if (letters.faults) for (const service of LIVE) outcomes[service] = fails;
  return outcomes;
}
export const eventsOf = ({ letters }: PathWorld): Readonly<Record<string, Event>> =>
  Object.assign({}, ...Object.values(letters.heard));

/** Two states with the same picture are one. */
export const pictureOf = (context: QueryState) => [
  project(context),
  context.ending,
  context.iteration === 1,
  context.pendingToolUseSummary !== undefined,
];

/** Where a fault that is put in can be put in, and what real services do not do. */
export const isPossibleIn =
  (world: PathWorld) => (snapshot: AnyMachineSnapshot, raw: AnyEventObject) => {
    const { context } = snapshot as Snapshot;
    const event = raw as Event;
    const leaf = leafOf(snapshot.value);
    const isFirst = leaf === 'preprocess.toolResultBudget' && context.iteration === 1;
    switch (raw.type) {
      case 'xstate.error.actor.tools':
      case 'xstate.error.actor.describer':
      case 'time.ranOut':
        return isFirst;
      case 'xstate.error.actor.model':
        return leaf === 'sampling.requesting';
      case 'round.described': // while the server holds the next answer back
        if (leaf !== 'sampling.streaming' || !context.pendingToolUseSummary) return false;
        break;
      case 'person.asked': // one call, asked for once
        if (context.questionCount > 0) return false;
        break;
      case 'tool.result': // a person first
      case 'tools.deferred':
        if (context.openQuestions.length > 0) return false;
        break;
    }
    if (raw.type === 'tools.deferred' && context.questionCount > 0) return false;
    const heard = 'output' in raw ? (raw.output as Event) : event;
    return (
      faithful(snapshot as Snapshot, event) && (world.isPossible?.(context, heard, leaf) ?? true)
    );
  };
