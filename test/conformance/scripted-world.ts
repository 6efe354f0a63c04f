/**
 * A world that follows a script: the real chart, run by the real XState, with services that say
 * what a story wants and a real message log. What must hold of every story is checked here.
 */
import { expect } from 'vitest';
import { type AnyEventObject, createActor, fromCallback, fromPromise, waitFor } from 'xstate';
import type {
  DescribeCommand,
  QueryEvent,
  QueryOutput,
  ToolCommand,
} from '../../machines/events.ts';
import type { QueryLimits } from '../../machines/limits.ts';
import { type Question, questions } from '../../machines/ports.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import {
  begin,
  type Cursor,
  type FailureClass,
  freshIteration,
  type MessageRef,
  type QueryInput,
  type QueryState,
  type StopReason,
} from '../../machines/state.ts';
import { MessageLog } from '../../services/message-log.ts';
import type { LogMessage } from '../../services/messages.ts';
import { takenIn, transitionId } from '../../src/testing/taken-transitions.ts';

// ── words for scripts ──

let count = 0;
const unique = (name: string) => {
  count += 1;
  return `${name}${count}`;
};
export const open: QueryEvent = { type: 'stream.opened' };
export const say = (text: string): QueryEvent => ({
  type: 'stream.message',
  message: { uuid: unique('m'), role: 'assistant', kind: 'text', text },
});
export const think = (): QueryEvent => ({
  type: 'stream.message',
  message: { uuid: unique('m'), role: 'assistant', kind: 'thinking', text: '…' },
});
export const call = (id: string, deadlineMs = 1_000): QueryEvent => ({
  type: 'stream.toolUse',
  id,
  deadlineMs,
  message: { uuid: unique('m'), role: 'assistant', kind: 'tool_use', toolUseId: id, text: id },
});
export const stop = (stopReason: StopReason, usd = 0): QueryEvent => ({
  type: 'stream.ended',
  stopReason,
  tokens: 10,
  outputTokens: 100,
  usd,
});
export const fails = (name: FailureClass, more: object = {}): QueryEvent => ({
  type: 'request.failed',
  failure: { class: name, detail: name, ...more },
  usd: 0,
});
/** A text and what follows it. */
export const whole = (n: number, ...more: Call): Call => [open, say(`part ${n} `), ...more];
export const noteOf = (text: string): MessageRef => ({
  uuid: unique('n'),
  role: 'user',
  kind: 'note',
  text,
});
export const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const never = () => new Promise<never>(() => {});

// ── the world ──

/** What a request hears; a number waits so many ms. */
export type Call = readonly (QueryEvent | number)[];
type ToolResult = Extract<QueryEvent, { type: 'tool.result' }>;
type Tool = (
  id: string,
  send: (event: QueryEvent) => void,
) => Promise<Partial<ToolResult> | 'defer' | 'stop'>;
type Answer = (state: QueryState, n: number, log: MessageLog) => QueryEvent | Promise<QueryEvent>;
export interface World {
  readonly calls: (n: number, state: QueryState) => Call;
  readonly answers?: Partial<Record<Question, Answer>>;
  readonly tool?: Tool;
  readonly input?: Omit<Partial<QueryInput>, 'limits'>;
  readonly limits?: Partial<QueryLimits>;
  readonly describe?: (command: DescribeCommand, log: MessageLog) => QueryEvent;
  /** Told each time when the query comes to another state. */
  readonly during?: (send: (event: QueryEvent) => void, at: string, state: QueryState) => void;
}

/** What a compaction leaves: one summary, and what `keep` says of the rest. */
export const summaryOf = (state: QueryState, log: MessageLog, keep = 1): Cursor => {
  const kept = keep === 0 ? [] : log.at(state.history.head).slice(-keep);
  const summary = logged({ uuid: unique('s'), role: 'user', kind: 'note', text: 'summary' });
  return log.rewrite([summary, ...kept], 1);
};
function logged(ref: MessageRef): LogMessage {
  return {
    ...ref,
    origin: ref.role === 'user' ? 'nudge' : 'model',
    timestamp: '2024-01-01T00:00:00.000Z',
    content: [{ type: 'text', text: ref.text ?? ref.uuid }],
  };
}

const unchanged: Answer = ({ history }) => ({ type: 'stage.done', history, usd: 0 });
const usual: Partial<Record<Question, Answer>> = {
  attachments: () => ({ type: 'attachments.ready', messages: [] }),
  stopHooks: () => ({ type: 'hooks.passed' }),
  drainCollapses: () => ({ type: 'collapse.empty' }),
  stripMedia: () => ({ type: 'media.absent' }),
  reactiveCompact: () => ({ type: 'compact.failed', usd: 0 }),
  switchModel: () => ({ type: 'model.switched', model: 'b', limits: {} }),
};

interface Stage {
  readonly world: World;
  readonly messages: MessageLog;
  readonly log: string[];
  readonly asked: Partial<Record<Question, number>>;
  requests: number;
  /** Services at work. */
  live: number;
}
/** Real services know what they have said: it is in the log before the chart hears of it. */
const put = (stage: Stage, event: QueryEvent): QueryEvent => {
  if ('message' in event) stage.messages.put(logged(event.message));
  if (event.type === 'attachments.ready') for (const m of event.messages) put1(stage, m);
  if (event.type === 'hooks.blocked') for (const m of event.errors) put1(stage, m);
  return event;
};
const put1 = (stage: Stage, ref: MessageRef) => stage.messages.put(logged(ref));

const scriptedQuestions = (stage: Stage) =>
  Object.fromEntries(
    (Object.keys(questions) as Question[]).map((name) => [
      name,
      fromPromise<QueryEvent, QueryState>(async ({ input }) => {
        const n = (stage.asked[name] ?? 0) + 1;
        stage.asked[name] = n;
        const answer = stage.world.answers?.[name] ?? usual[name] ?? unchanged;
        return put(stage, await answer(input, n, stage.messages));
      }),
    ]),
  );

const scriptedModel = (stage: Stage) =>
  fromCallback<QueryEvent, QueryState>(({ input, sendBack }) => {
    if (stage.requests > REQUESTS_MAX) throw new Error('it asks for ever');
    const script = stage.world.calls(stage.requests, input);
    stage.requests += 1;
    stage.live += 1;
    let gone = false;
    void (async () => {
      for (const event of script) {
        await wait(typeof event === 'number' ? event : 0);
        if (!gone && typeof event !== 'number') sendBack(put(stage, event));
      }
    })();
    return () => {
      gone = true;
      stage.live -= 1;
    };
  });

const scriptedTools = (stage: Stage) =>
  fromCallback<ToolCommand, QueryState>(({ receive, sendBack }) => {
    const running = new Set<string>();
    const deferred: string[] = [];
    let drains = false;
    let stops = false;
    let gone = false;
    stage.live += 1;
    const tellWhenSettled = () => {
      if (gone || !drains || running.size > deferred.length) return;
      drains = false;
      if (deferred.length > 0) sendBack({ type: 'tools.deferred', ids: deferred });
      else sendBack(stops ? { type: 'tools.stopped' } : { type: 'tools.drained' });
    };
    const run = async (id: string) => {
      stage.log.push(`${id} starts`);
      const tool: Tool = stage.world.tool ?? (async () => ({}));
      const result = await tool(id, (event) => {
        if (!gone) sendBack(put(stage, event));
      });
      if (gone || !running.has(id)) return;
      if (result === 'defer') deferred.push(id);
      else {
        running.delete(id);
        stops ||= result === 'stop';
        stage.log.push(`${id} done`);
        sendBack(put(stage, { ...resultOf(id), ...(result === 'stop' ? {} : result) }));
      }
      tellWhenSettled();
    };
    receive((command) => {
      if (command.type === 'tools.discard') running.clear();
      if (command.type === 'tools.drain') drains = true;
      if (command.type === 'stream.toolUse') {
        running.add(command.id);
        void run(command.id);
      }
      tellWhenSettled();
    });
    return () => {
      gone = true;
      stage.live -= 1;
    };
  });
export const resultOf = (id: string): ToolResult => ({
  type: 'tool.result',
  id,
  message: { uuid: unique('r'), role: 'user', kind: 'tool_result', toolUseId: id, text: id },
  fingerprint: id,
});

const scriptedDescriber = (stage: Stage) =>
  fromCallback<DescribeCommand, QueryState>(({ receive, sendBack }) => {
    receive((command) => {
      if (stage.world.describe) sendBack(stage.world.describe(command, stage.messages));
    });
  });

export const leafOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  const [[state, below] = ['', '']] = Object.entries(value as object);
  return `${state}.${leafOf(below)}`;
};
const fast = { retryBaseMs: 1, retryCapMs: 2, toolGraceMs: 30 };
const logWords = new Set(['tombstone', 'retry', 'fallback', 'warning', 'error']);

let chart = queryMachine;
let taken = new Set<string>();
/** A chart with a mistake may go round for ever, or wait. */
const REQUESTS_MAX = 100;
const [STORY_MS, MUTANT_MS] = [10_000, 3_000];
/**
 * Stories that are told meanwhile are of this chart. One chart at a time.
 * @returns the transitions that they have taken.
 */
export async function withChart(
  other: typeof queryMachine,
  f: () => Promise<void>,
): Promise<ReadonlySet<string>> {
  const before = chart;
  [chart, taken] = [other, new Set()];
  try {
    await f();
    return taken;
  } finally {
    chart = before;
  }
}

/** Runs a story to its end. */
export async function tell(world: World) {
  const messages = new MessageLog();
  const stage: Stage = { world, messages, log: [], asked: {}, requests: 0, live: 0 };
  const out: QueryOutput[] = [];
  const prompt = logged({ uuid: unique('p'), role: 'user', kind: 'note', text: 'prompt' });
  const history = messages.append({ head: '0/', count: 0, tokens: 0 }, [prompt]);
  const actors = {
    ...scriptedQuestions(stage),
    callModel: scriptedModel(stage),
    toolExecutor: scriptedTools(stage),
    roundDescriber: scriptedDescriber(stage),
  };
  const input: QueryInput = {
    queryId: 'q',
    history,
    model: 'a',
    ...world.input,
    limits: { ...fast, ...world.limits },
  };
  const heard: AnyEventObject[] = [];
  const actor = createActor(chart.provide({ actors: actors as never }), {
    input,
    inspect: (seen) => {
      for (const transition of takenIn(seen)) taken.add(transitionId(transition));
      if (seen.type !== '@xstate.event' || seen.actorRef.sessionId !== actor.sessionId) return;
      const word = wordOf(seen.event);
      if (word) heard.push(word);
    },
  });
  actor.on('*', (word) => {
    out.push(word);
    if (word.type === 'message' && !messages.has(word.message.uuid)) put1(stage, word.message);
    if (word.type === 'agreed') messages.extend(word.from, word.messages);
    if (word.type === 'transition' && word.reason) stage.log.push(word.reason);
    if (logWords.has(word.type)) stage.log.push(word.type);
  });
  let at = '';
  actor.subscribe(({ value, context }) => {
    const now = leafOf(value);
    if (now === at) return;
    at = now;
    world.during?.((event) => actor.send(put(stage, event)), now, context);
  });
  actor.start();
  const end = await waitFor(actor, ({ status }) => status !== 'active', {
    timeout: chart === queryMachine ? STORY_MS : MUTANT_MS,
  });
  await wait(0);

  expect([end.status, end.value]).toEqual(['done', 'terminal']);
  expect(stage.live, 'services that still run').toBe(0);
  const result = end.output as NonNullable<typeof end.output>;
  const told = messages.at(result.history.head);
  checkAgreement(out);
  checkStored(end.context);
  checkPairs(told, result.reason);
  return {
    ...result,
    messages: told,
    kinds: told.map(({ kind }) => kind),
    text: told
      .filter(({ kind }) => kind === 'text')
      .map(({ text }) => text)
      .join(''),
    input,
    /** Everything that the chart has heard, in order: enough to make this run again. */
    heard,
    log: stage.log,
    out,
    requests: stage.requests,
    asked: stage.asked,
    context: end.context,
    error: out.find((word) => word.type === 'error'),
    transitions: stage.log.filter((line) => line.includes('_') && !line.includes(' ')),
  };
}
/** What was heard, without the wrapping of XState: the answer of a service, or that time passed. */
const wordOf = (event: AnyEventObject): AnyEventObject | undefined => {
  if (event.type.startsWith('xstate.done.actor.')) return event.output as AnyEventObject;
  const inside = event.type.startsWith('xstate.') && !event.type.startsWith('xstate.after.');
  return inside ? undefined : event;
};
export type Told = Awaited<ReturnType<typeof tell>>;
export const times = (told: Told, line: string) => told.log.filter((l) => l === line).length;

/** What the host was shown and did not lose again is what stands, in this order. */
function checkAgreement(out: readonly QueryOutput[]) {
  const shown: string[] = [];
  const agreed: string[] = [];
  for (const word of out) {
    if (word.type === 'message') shown.push(word.message.uuid);
    if (word.type === 'agreed') agreed.push(...word.messages.map(({ uuid }) => uuid));
    if (word.type !== 'tombstone') continue;
    expect(agreed, 'what stands is never taken back').not.toContain(word.uuid);
    expect(shown).toContain(word.uuid);
    shown.splice(shown.indexOf(word.uuid), 1);
  }
  expect(agreed).toEqual(shown);
  const errors = out.filter(({ type }) => type === 'error');
  expect(errors.length, 'an error is shown once').toBeLessThan(2);
}
/** Stored, read again and begun again: nothing of the state is lost on the way. */
function checkStored(state: QueryState) {
  const { startedAtMs, ...again } = JSON.parse(JSON.stringify(state));
  const clock = { ...state.clock, startedAtMs };
  expect(begin(again)).toEqual({ ...state, ...freshIteration, clock, ending: undefined });
  expect(JSON.stringify(state).length).toBeLessThan(65_536);
}
/** Every call has exactly one answer, except those that were left to the host. */
function checkPairs(told: readonly LogMessage[], reason: string) {
  const ids = (kind: MessageRef['kind']) =>
    told.filter((m) => m.kind === kind).map(({ toolUseId }) => toolUseId);
  const [made, answered] = [ids('tool_use'), ids('tool_result')];
  if (reason === 'tool_deferred') expect(made.length).toBeGreaterThan(answered.length);
  else expect([...answered].sort()).toEqual([...made].sort());
}
