/**
 * What the world can say to a query: services, tools, people. And the lenses through which the
 * chart is looked at: each lets one corner of the world speak freely, so that the counters of that
 * corner can be looked at together. With all letters at once there would be too many states.
 */
import type { QueryEvent } from '../../machines/events.ts';
import { guards } from '../../machines/guards.ts';
import type { QueryLimits } from '../../machines/limits.ts';
import {
  affordableTokens,
  type Cursor,
  type FailureClass,
  flawOf,
  handedOver,
  type MessageRef,
  type QueryInput,
  type QueryState,
  type StopReason,
  saidSomething,
} from '../../machines/state.ts';
import type { Alphabet, Lens, Snapshot } from './chart.ts';

const ref = (
  uuid: string,
  kind: MessageRef['kind'] = 'text',
  role: MessageRef['role'] = 'assistant',
): MessageRef => ({ uuid, role, kind });
const at = (tokens: number): Cursor => ({ head: '0/u', count: 1, tokens });
const staged = (tokens: number, more: object = {}): QueryEvent => ({
  type: 'stage.done',
  history: at(tokens),
  usd: 0,
  ...more,
});
const failed = (name: FailureClass, more: object = {}): QueryEvent => ({
  type: 'request.failed',
  failure: { class: name, detail: name, ...more },
  usd: 0,
});
const ended = (stopReason: StopReason, usd = 0): QueryEvent => ({
  type: 'stream.ended',
  stopReason,
  tokens: 10,
  outputTokens: 100,
  usd,
});
const result = (more: object = {}): QueryEvent => ({
  type: 'tool.result',
  id: 't1',
  message: ref('r1', 'tool_result', 'user'),
  fingerprint: 'f',
  ...more,
});
const asked: QueryEvent = { type: 'person.asked', question: 'q', toolUseId: 't1', atMs: 10 };
const answered: QueryEvent = { type: 'person.answered', question: 'q', atMs: 20 };
const stageIsDone = { ok: staged(10) };

/** Everything that can be said. */
export const all: Alphabet = {
  answers: {
    toolResultBudget: stageIsDone,
    snip: stageIsDone,
    microcompact: stageIsDone,
    collapse: stageIsDone,
    autocompact: {
      ok: staged(10),
      compacted: staged(10, { compaction: 'done' }),
      'could not': staged(10, { compaction: 'failed' }),
    },
    legalize: { fits: staged(10), 'too long': staged(2_000), dear: staged(10, { promptUsd: 1 }) },
    drainCollapses: {
      'collapses committed': { type: 'collapse.drained', history: at(5) },
      'no collapse': { type: 'collapse.empty' },
    },
    stripMedia: {
      stripped: { type: 'media.stripped', history: at(10), left: 0 },
      'stripped, some left': { type: 'media.stripped', history: at(10), left: 1 },
      absent: { type: 'media.absent' },
    },
    reactiveCompact: {
      done: { type: 'compact.done', history: at(5), usd: 0 },
      failed: { type: 'compact.failed', usd: 0 },
    },
    switchModel: { switched: { type: 'model.switched', model: 'b', limits: {} } },
    attachments: { ready: { type: 'attachments.ready', messages: [] } },
    stopHooks: {
      passed: { type: 'hooks.passed' },
      blocked: { type: 'hooks.blocked', errors: [] },
      prevented: { type: 'hooks.prevented' },
    },
  },
  heard: {
    query: {
      abort: { type: 'abort' },
      'time is up': { type: 'time.ranOut' },
      described: { type: 'round.described', text: 'ran', toolUseIds: ['t1'], usd: 0 },
    },
    'sampling.requesting': {
      opened: { type: 'stream.opened' },
      overloaded: failed('overloaded'),
      connection: failed('connection'),
      auth: failed('auth'),
      'retry after an hour': failed('rate_limited', { retryAfterMs: 3_600_000 }),
      'prompt too long': failed('prompt_too_long'),
      'request too large': failed('request_too_large'),
      'bad image': failed('bad_image'),
      'cap too high': failed('output_cap_too_high', { fittingTokens: 5 }),
      'over budget': failed('over_budget'),
    },
    'sampling.streaming': {
      text: { type: 'stream.message', message: ref('a') },
      thinking: { type: 'stream.message', message: ref('th', 'thinking') },
      call: {
        type: 'stream.toolUse',
        id: 't1',
        deadlineMs: 1,
        message: ref('c1', 'tool_use'),
      },
      'result while streaming': result(),
      'asked while streaming': asked,
      'answered while streaming': answered,
      end_turn: ended('end_turn'),
      tool_use: ended('tool_use'),
      max_tokens: ended('max_tokens'),
      pause_turn: ended('pause_turn'),
      refusal: ended('refusal'),
      'window exceeded': ended('model_context_window_exceeded'),
      'end_turn, dear': ended('tool_use', 5),
      cut: failed('connection'),
      'overloaded mid-stream': failed('overloaded'),
    },
    toolRun: {
      result: result(),
      'result, wrong shape': result({ schemaTry: 'invalid' }),
      'result, right shape': result({ schemaTry: 'valid' }),
      asked,
      answered,
    },
    'toolRun.draining': {
      'all answered': { type: 'tools.drained' },
      stopped: { type: 'tools.stopped' },
      deferred: { type: 'tools.deferred', ids: ['t1'] },
    },
  },
  faults: true,
};

/** One call of this name in an iteration; drained when all are answered. */
export const faithful = ({ context: c }: Snapshot, event: QueryEvent) => {
  switch (event.type) {
    case 'stream.toolUse':
      return !handedOver(c);
    case 'tools.drained':
    case 'tools.stopped':
      return c.openToolUses.length === 0;
    case 'tools.deferred':
      return c.openToolUses.length > 0;
    default:
      return true;
  }
};
/** Everything that guards can tell apart, and nothing else; every counter whole. */
export const project = (c: QueryState) => [
  [c.turnCount, c.repeats, c.lastRound !== '', c.pauseCount, c.spentUsd >= c.limits.usdMax],
  [c.history.tokens > c.limits.windowTokens, affordableTokens(c) < c.limits.outputTokensMin],
  c.autoCompactTracking.consecutiveFailures,
  [c.autoCompactTracking.rapidRefills, c.autoCompactTracking.compacted],
  Math.min(c.autoCompactTracking.turnCounter, c.limits.rapidRefillIterations + 1),
  [flawOf(c), c.withheld?.class === undefined, c.wasRefusedAsTooLong, c.mediaLeft],
  guards.apiAnswered({ context: c, event: { type: 'abort' } }),
  [saidSomething(c), handedOver(c), c.openToolUses.length, c.blockCount >= c.limits.blocksMax],
  [c.openQuestions.length, c.questionCount, c.round, c.schemaTry, c.schemaSatisfied],
  [c.hasAttemptedCollapseDrain, c.hasAttemptedMediaStrip, c.hasAttemptedReactiveCompact],
  [c.maxOutputTokensOverride, c.hasLoweredCap, c.maxOutputTokensRecoveryCount],
  [c.streamResumeCount, c.malformedCount, c.emptyCount, c.retryCount, c.overloads],
  [c.fallbackModel, c.schemaTries, c.schemaNudges, c.stopHookBlocks],
  c.budgetTracker.continuationCount,
];
/** Small bounds: a counter that goes to 2 shows what one that goes to 10 does. */
const limits: Partial<QueryLimits> = {
  turnsMax: 2,
  usdMax: 1,
  windowTokens: 1_000,
  outputTokens: 8,
  outputTokensMin: 1,
  outputTokensEscalated: 64,
  outputTokensMax: 64,
  outputUsdPerToken: 0.001,
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
const input = (over: Partial<QueryLimits> = {}, more: Partial<QueryInput> = {}): QueryInput => ({
  queryId: 'q',
  history: at(0),
  model: 'a',
  startedAtMs: 0,
  ...more,
  limits: { ...limits, ...over },
});

const usual = ['abort', 'opened', 'text', 'end_turn', 'ok', 'fits', 'passed', 'cut'];
const tools = ['call', 'tool_use', 'result', 'all answered', 'ready'];
/** The letters with these names. */
export const pick = ({ answers, heard }: Alphabet, names: readonly string[]): Alphabet => {
  const wanted = new Set(names);
  const some = <T extends Readonly<Record<string, object>>>(places: T) =>
    Object.fromEntries(
      Object.entries(places).map(([place, letters]) => [
        place,
        Object.fromEntries(Object.entries(letters).filter(([name]) => wanted.has(name))),
      ]),
    );
  return { faults: false, answers: some(answers), heard: some(heard) };
};
const only = (...names: readonly string[]) => pick(all, [...usual, ...names]);
/** No second chances: what is left is what can happen once. */
export const strict: Partial<QueryLimits> = {
  blocksMax: 2,
  turnsMax: 1,
  outputResumesMax: 0,
  streamResumesMax: 0,
  pausesMax: 0,
  malformedMax: 0,
  emptyMax: 0,
  stopHookBlocksMax: 0,
  tokenNudgesMax: 0,
  schemaNudgesMax: 0,
  schemaTriesMax: 1,
  retriesMax: 0,
  outputTokens: 64,
};
const lens = (name: string, from: QueryInput, letters: Alphabet): Lens => ({
  name,
  input: from,
  letters,
  project,
  faithful,
});
export const lenses: readonly Lens[] = [
  lens('every fault, without second chances', input(strict), {
    ...only(
      ...[...tools, 'time is up', 'max_tokens', 'refusal', 'prompt too long', 'request too large'],
      ...['done', 'failed', 'absent', 'no collapse', 'asked', 'answered', 'compacted', 'blocked'],
    ),
    faults: true,
  }),
  lens(
    'one retry of everything that is taken back',
    input({ ...strict, malformedMax: 1, emptyMax: 1, retriesMax: 1, outputTokens: 8 }),
    only(
      ...['tool_use', 'max_tokens', 'thinking', 'overloaded', 'prompt too long', 'done', 'failed'],
      ...['collapses committed', 'no collapse'],
    ),
  ),
  lens(
    'tools and people',
    input({ turnsMax: 3, questionsMax: 2 }),
    only(
      ...[...tools, 'result while streaming', 'asked while streaming', 'answered while streaming'],
      ...['asked', 'answered', 'stopped', 'deferred', 'end_turn, dear', 'refusal', 'described'],
    ),
  ),
  lens(
    'the window is full again and again',
    input({ turnsMax: 2, rapidRefillsMax: 1 }),
    only(...tools, 'compacted', 'could not'),
  ),
  lens(
    'overflow',
    input({ turnsMax: 1 }),
    only(
      ...[...tools, 'too long', 'prompt too long', 'collapses committed', 'no collapse', 'done'],
      ...['failed', 'window exceeded'],
    ),
  ),
  lens(
    'too many bytes',
    input({ turnsMax: 1 }),
    only(
      ...['request too large', 'bad image', 'stripped', 'stripped, some left', 'absent', 'done'],
      ...['collapses committed', 'no collapse', 'failed', 'too long'],
    ),
  ),
  lens(
    'transport and fallback',
    input({ turnsMax: 1, retriesMax: 2 }, { fallbackModel: 'b' }),
    only(
      ...['overloaded', 'overloaded mid-stream', 'connection', 'auth', 'retry after an hour'],
      ...['cap too high', 'thinking', 'switched', 'done', 'no collapse'],
    ),
  ),
  lens(
    'answers that cannot stand',
    input({ turnsMax: 1, outputResumesMax: 2 }),
    only(...tools, 'max_tokens', 'pause_turn'),
  ),
  lens(
    'stop hooks, budget',
    input({ turnsMax: 3, tokenBudget: 1_000_000 }),
    only(...tools, 'blocked', 'prevented', 'end_turn, dear', 'dear', 'over budget'),
  ),
  lens(
    'structured output',
    input({ turnsMax: 3 }, { wantsSchema: true }),
    only(...tools, 'result, wrong shape', 'result, right shape', 'blocked'),
  ),
  lens(
    'an errand: no compaction, no stop hooks, no budget',
    input({ tokenBudget: 1_000_000 }, { querySource: 'hook_agent' }),
    only(
      ...[...tools, 'prompt too long', 'request too large', 'too long', 'stripped', 'absent'],
      ...['blocked', 'done', 'collapses committed', 'compacted', 'window exceeded'],
    ),
  ),
  lens(
    'a fallback that throws or hangs',
    input({ ...strict, retriesMax: 1, overloadsMax: 1 }, { fallbackModel: 'b' }),
    { ...only('overloaded', 'switched'), faults: true },
  ),
];
