/**
 * One query: the chart, its services, and the host that listens. The loop itself is
 * `machines/query.machine.ts`; here its words become messages and its questions find their
 * services.
 */
import { channel } from 'node:diagnostics_channel';
import { type Actor, createActor, type InspectionEvent, toPromise } from 'xstate';
import type { QueryOutput } from '../machines/events.ts';
import type { Question } from '../machines/ports.ts';
import { queryMachine } from '../machines/query.machine.ts';
import type { Flaw, MessageRef, QueryInput, QueryResult } from '../machines/state.ts';
import { type Ask, conversation, question } from '../services/as-actor.ts';
import type { Transcript } from '../services/journal/transcript.ts';
import type { LogMessage } from '../services/messages.ts';
import type { QueryConfig } from './config.ts';
import { converse } from './converse.ts';
import type { QueryDeps } from './deps.ts';
import type { ObservedQuery } from './engine-events.ts';
import { flawSentences } from './flaw-sentences.ts';
import { journalEvents } from './journal-events.ts';
import type { OutputQueue } from './output-queue.ts';
import { type HeldQuery, heldAsk, heldTalk } from './query-hold.ts';
import type { QueryScope } from './query-scope.ts';
import { show } from './show.ts';
import { errorToWire, type SystemWord } from './to-wire.ts';
import type { SDKMessage } from './wire.ts';

/** After the end, so long for the last words: the usage of a stream that was cut off. */
const LAST_WORDS_MS = 1_500;
/** Of a prompt, where a query is named by it. */
const TITLE_CHARS_MAX = 120;
/** Every query of this process, for one who watches the process and not an engine of it. */
const inspections = channel('escapement:inspect');

export interface QueryParams {
  readonly input: QueryInput;
  readonly config: QueryConfig;
  readonly deps: QueryDeps;
  readonly scope: QueryScope;
  /** Abort: the query ends as `aborted_streaming` or `aborted_tools`. */
  readonly signal: AbortSignal;
  readonly inspect?: (event: InspectionEvent) => void;
  /** For those who look on: of an agent, the call that it works for, its name and its task. */
  readonly about?: Pick<ObservedQuery, 'title' | 'toolUseId' | 'agent'>;
  /** Told of every end, also when the host has left and nobody reads the return value. */
  readonly onEnd?: (result: QueryResult) => void;
}

/**
 * Runs the chart to its one ending. Leaving the generator early stops everything.
 * @returns what is left of the query: the reason, and the history that stands.
 */
export async function* runQuery(
  params: QueryParams,
): AsyncGenerator<SDKMessage, QueryResult, unknown> {
  const { scope, signal } = params;
  const { session } = scope;
  const { watch } = session;
  const { queryId } = params.input;
  const lives = new Set<Promise<void>>();
  const over = new AbortController();
  scope.beside = (work) => {
    if (!over.signal.aborted) keepUntilSettled(work(over.signal), lives);
  };
  watch.began(session, observed(params));
  const held = watch.hold?.begin(queryId);
  const actor = createActor(machineOf(params, lives, held), {
    input: params.input,
    ...clockOf(params.deps, held),
    inspect: journalEvents(
      session.transcript,
      params.input,
      (event) => {
        if (inspections.hasSubscribers) inspections.publish(event);
        if (watch.isWatched) watch.tell({ type: 'query.inspected', queryId, event });
        scope.tellCallback('inspect', () => params.inspect?.(event));
      },
      // a gap in the lines: nobody could go on from them; not told in the middle of the step
      (error) => queueMicrotask(() => session.onDiskFailure(error)),
    ),
  });
  held?.bind(actor);
  const abort = () => stopQuery(actor);
  scope.interrupt = abort;
  actor.on('*', (word) => hear(word, scope, actor));
  // The last words come after the end: deltas of a block that was cut off are taken back, and the
  // usage of its stream counts. So the host is not dismissed before they were said.
  const ended = toPromise(actor)
    .finally(() => over.abort())
    .finally(() => settled(lives))
    .finally(() => scope.queue.end());
  ended.catch(() => {}); // awaited below, after the last message was read
  actor.start();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    yield* session.config.bare ? scope.queue : safely(scope.queue, session.transcript);
    return await ended;
  } finally {
    signal.removeEventListener('abort', abort);
    stopQuery(actor); // the host has left: what was done stands all the same, calls are answered
    const { output } = actor.getSnapshot();
    actor.stop();
    over.abort();
    scope.queue.end();
    held?.end();
    await settled(lives);
    watch.ended(session, { queryId, ...(output ? { result: output } : {}) });
    if (output) params.onEnd?.(output);
  }
}

/** The query, for those who look on. */
function observed({ input, scope, about }: QueryParams): ObservedQuery {
  const { queryId, model, querySource = 'main', history } = input;
  const { log } = scope.session;
  const prompt = log.at(history.head).findLast(({ origin }) => origin === 'prompt');
  const [block] = prompt?.content ?? [];
  const said = block?.type === 'text' ? block.text : '';
  const title = said.replace(/\s+/g, ' ').trim().slice(0, TITLE_CHARS_MAX);
  return { queryId, model, querySource, title, ...about };
}

/**
 * What the host sees is on the disk first, so that no loss of power takes back what was shown.
 * Deltas are not kept and do not wait. A disk that fails ends the turn elsewhere, not here.
 */
export async function* safely(
  queue: OutputQueue<SDKMessage>,
  transcript: Transcript,
): AsyncGenerator<SDKMessage, void, unknown> {
  for await (const message of queue) {
    const isKept = message.type === 'assistant' || message.type === 'user';
    if (isKept) await transcript.commit().catch(() => {});
    yield message;
  }
}

/** Somebody who holds the query holds its time, too. */
const clockOf = ({ clock }: QueryDeps, held: HeldQuery | undefined) => {
  if (held) return { clock: held.clock };
  return clock ? { clock } : {};
};

/** Also when the query is over: then there is nothing to stop, and XState would write a warning. */
function stopQuery(actor: Actor<typeof queryMachine>): void {
  if (actor.getSnapshot().status === 'active') actor.send({ type: 'abort' });
}

const settled = (lives: ReadonlySet<Promise<void>>): Promise<unknown> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, LAST_WORDS_MS);
  });
  return Promise.race([Promise.all(lives), late]).finally(() => clearTimeout(timer));
};

/** *Contract:* the life never rejects. */
function keepUntilSettled(life: Promise<void>, lives: Set<Promise<void>>): void {
  lives.add(life);
  void life.then(() => lives.delete(life));
}

/** The chart with its services. */
function machineOf(
  { deps, scope }: QueryParams,
  lives: Set<Promise<void>>,
  held: HeldQuery | undefined,
) {
  const live = (life: Promise<void>) => keepUntilSettled(life, lives);
  const { session } = scope;
  const callModel = session.watch.watched(deps.callModel, session);
  const asked = <Q extends Question & keyof QueryDeps>(name: Q) =>
    question(heldAsk(held, name, deps[name] as Ask<Awaited<ReturnType<QueryDeps[Q]>>>));
  return queryMachine.provide({
    actors: {
      toolResultBudget: asked('toolResultBudget'),
      snip: asked('snip'),
      microcompact: asked('microcompact'),
      collapse: asked('collapse'),
      autocompact: asked('autocompact'),
      legalize: asked('legalize'),
      drainCollapses: asked('drainCollapses'),
      stripMedia: asked('stripMedia'),
      reactiveCompact: asked('reactiveCompact'),
      switchModel: asked('switchModel'),
      attachments: asked('attachments'),
      stopHooks: asked('stopHooks'),
      callModel: conversation(
        heldTalk(held, 'callModel', (line) => converse(line, callModel, scope)),
        (error, send) =>
          send({
            type: 'request.failed',
            failure: { class: 'bug', detail: `callModel: ${String(error)}` },
            usd: 0,
          }),
        live,
      ),
      toolExecutor: conversation(
        heldTalk(held, 'toolExecutor', deps.toolExecutor),
        undefined, // its calls would wait for their answers: the chart ends the query
        live,
      ),
      roundDescriber: conversation((line) => deps.roundDescriber(line), undefined, live),
    },
  });
}

/** What the chart says, to the log, the transcript and the host. *Contract:* never throws. */
function hear(word: QueryOutput, scope: QueryScope, actor: Actor<typeof queryMachine>): void {
  try {
    tell(word, scope);
  } catch (error) {
    scope.warn(`internal error while reporting ${word.type}: ${String(error)}`);
    stopQuery(actor);
  }
}

function tell(word: QueryOutput, scope: QueryScope): void {
  keep(word, scope);
  const said = saidOf(word);
  if (said) scope.system(said);
}

/** What a word does beside what is said of it. */
function keep(word: QueryOutput, scope: QueryScope): void {
  const { session, turn } = scope;
  switch (word.type) {
    case 'message':
      show(entry(word.message, scope), scope);
      return;
    case 'tombstone':
      scope.retract(word.uuid);
      return;
    case 'agreed':
      session.log.extend(word.from, word.messages);
      turn.agree(word.messages.map(({ uuid }) => session.log.get(uuid)));
      return;
    case 'transition':
      if (word.reason === undefined) return;
      session.transcript.note('transition', { reason: word.reason, iteration: word.iteration });
      return;
    case 'person':
      if (word.openQuestions > 0) scope.notify('permission_prompt', 'A tool call waits for you.');
      return;
    case 'error':
      showError(word.flaw, word.detail, scope);
      return;
    case 'roundDescribed':
      scope.queue.push({
        type: 'tool_use_summary',
        summary: word.text,
        preceding_tool_use_ids: word.toolUseIds,
        uuid: scope.uuid(),
        session_id: session.id,
      });
      return;
    case 'sampled':
      scope.sampled(word.iteration);
      return;
    case 'retry':
    case 'fallback':
    case 'warning':
    case 'budgetContinued':
    case 'budgetCompleted':
    case 'maxTurnsReached':
      return;
  }
}

/** What the host hears of a word as a message of the system. Pure. */
function saidOf(word: QueryOutput): SystemWord | undefined {
  switch (word.type) {
    case 'transition':
      if (word.reason === undefined) return undefined;
      return { subtype: 'transition', reason: word.reason, iteration: word.iteration };
    case 'retry':
      return {
        subtype: 'api_retry',
        attempt: word.attempt,
        max_retries: word.attemptsMax,
        retry_delay_ms: Math.round(word.delayMs),
        error_status: word.failure.status ?? null,
        error: word.failure.detail,
      };
    case 'fallback':
      return {
        subtype: 'model_fallback',
        trigger: 'overloaded',
        original_model: word.from,
        fallback_model: word.to,
        level: 'warning',
        content: `${word.from} is overloaded: ${word.to} takes over for this turn`,
      };
    case 'person': {
      const state = word.openQuestions > 0 ? 'requires_action' : 'running';
      return { subtype: 'session_state_changed', state };
    }
    case 'warning':
      return { subtype: 'informational', level: 'warning', content: word.text };
    case 'budgetContinued':
      return {
        subtype: 'token_budget',
        action: 'continue',
        continuation_count: word.continuationCount,
        percentage: word.percentage,
      };
    case 'budgetCompleted':
      return { subtype: 'token_budget', action: 'stop', ...completionOf(word) };
    case 'maxTurnsReached': {
      const { maxTurns, turnCount } = word;
      return {
        subtype: 'attachment',
        attachment: { type: 'max_turns_reached', maxTurns, turnCount },
      };
    }
    default:
      return undefined;
  }
}

const completionOf = ({
  completionEvent: e,
}: Extract<QueryOutput, { type: 'budgetCompleted' }>) => ({
  continuation_count: e.continuationCount,
  percentage: e.percentage,
  is_diminishing: e.diminishingReturns,
});

/** The log has it already, unless the chart itself is speaking. */
function entry(ref: MessageRef, scope: QueryScope): LogMessage {
  const { log } = scope.session;
  if (ref.text === undefined) return log.get(ref.uuid);
  const answers = ref.kind === 'tool_result';
  return log.put({
    ...ref,
    origin: answers ? 'repair' : 'nudge',
    isMeta: true,
    timestamp: scope.now().toISOString(),
    content: answers
      ? [
          {
            type: 'tool_result',
            tool_use_id: ref.toolUseId ?? '',
            content: ref.text,
            is_error: true,
          },
        ]
      : [{ type: 'text', text: ref.text }],
  });
}

/** What nobody has said in words (an answer without any, a cut one) gets a sentence of ours. */
function showError(flaw: Flaw, detail: string, scope: QueryScope): void {
  const text = detail === flaw ? flawSentences[flaw] : detail;
  scope.turn.errors.push(text);
  scope.queue.push(errorToWire(scope.uuid(), scope.session.id, flaw, text));
}
