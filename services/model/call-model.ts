/**
 * One request to a model, as a stream of finished things. Owns no retry: a request is asked once,
 * and the chart decides what a failure means.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { Failure } from '../../machines/state.ts';
import { Accumulator } from './accumulate.ts';
import { classify } from './classify.ts';
import { buildRequest } from './request.ts';
import type { CallModel, ModelClient, ModelEvent, ModelRequest } from './types.ts';
import { estimatedTokens, noUsage } from './usage.ts';
import { Aborted, defaultWatchLimits, Watchdog, WatchError, type WatchLimits } from './watchdog.ts';

/**
 * A stream is read to its own end after `message_stop`, so that its connection can be used again;
 * a server that leaves it open is not waited for.
 */
const LINGER_MS = 100;

export interface CallModelOptions {
  /** *Must* not retry, and *must* pass the signal on. */
  readonly client: ModelClient;
  readonly limits?: Partial<WatchLimits>;
  /** Ids of all calls of the session so far. Grows. Default: none yet. */
  readonly callIds?: Set<string>;
  /** Uuids of the messages to come. */
  readonly uuid?: () => string;
  /** ms since 1970. */
  readonly now?: () => number;
  /** In [0, 1): jitter of the next try. */
  readonly random?: () => number;
}

type Stream = AsyncIterator<Anthropic.RawMessageStreamEvent>;
type Ending = Extract<ModelEvent, { type: 'ended' | 'failed' }>;

/**
 * The service behind the chart's `callModel`.
 *
 * *Contract:* never throws. Ends with exactly one `ended` or `failed`, also after an abort
 * (`failed` with `isAborted`). Reads only when it is pulled. When a consumer leaves early, the
 * connection is closed by the time `return()` resolves; what was begun it takes back itself.
 */
export function createCallModel(options: CallModelOptions): CallModel {
  const limits = { ...defaultWatchLimits, ...options.limits };
  const world: World = {
    client: options.client,
    limits,
    callIds: options.callIds ?? new Set(),
    uuid: options.uuid ?? (() => crypto.randomUUID()),
    now: options.now ?? Date.now,
    random: options.random ?? Math.random,
  };
  return (request) => converse(request, world);
}

type World = Required<Omit<CallModelOptions, 'limits'>> & { readonly limits: WatchLimits };

async function* converse(request: ModelRequest, world: World): AsyncGenerator<ModelEvent, void> {
  const answer = new Accumulator({
    model: request.model,
    callIds: world.callIds,
    isKnownCall: (id) => request.messages.some((m) => m.kind === 'tool_use' && m.toolUseId === id),
    previousApiId: request.messages.findLast(({ role }) => role === 'assistant')?.apiId,
    promptTokens: () => estimatedTokens(JSON.stringify(buildRequest(request).body).length),
    uuid: world.uuid,
    now: () => new Date(world.now()).toISOString(),
  });
  let ending: Ending;
  try {
    yield* read(request, world, answer);
    yield* answer.end();
    ending = endedWith(answer);
  } catch (error) {
    ending = failedWith(error, request.signal, world, answer);
  }
  // Not in a `finally`: a yield there keeps whoever wraps this suspended when the consumer leaves.
  yield* answer.abandon();
  yield ending;
}

/** All events of the stream. @throws whatever ended it before `message_stop`. */
async function* read(
  request: ModelRequest,
  { client, limits }: World,
  answer: Accumulator,
): AsyncGenerator<ModelEvent, void> {
  const watchdog = new Watchdog(limits.requestMs, request.signal);
  const quietMs = limits.idleMs === 0 ? 0 : limits.quietMs;
  let opening: Promise<Stream> | undefined;
  let isDone = false;
  try {
    // A signal that was aborted before must not cost a request.
    if (request.signal.aborted) throw new Aborted('aborted by the host');
    opening = open(client, request, watchdog.signal);
    const stream = await watchdog.wait(opening, limits.headersMs, () =>
      noHeaders(limits.headersMs),
    );
    yield { type: 'opened' };
    while (!answer.isOver) {
      const next = await watchdog.wait(stream.next(), quietMs, () => onlyPings(quietMs));
      if (next.done) break;
      // Not `yield*`: on an array that costs three more promises for each delta.
      for (const event of answer.take(next.value)) yield event;
    }
    isDone = answer.isOver ? await endsBySelf(stream, watchdog) : true;
  } finally {
    watchdog.stop(isDone);
    if (!isDone) close(opening);
  }
  // Streams of the SDK end quietly when they are aborted, and when a proxy cuts them cleanly.
  if (answer.isOver) return;
  if (request.signal.aborted) throw new Aborted('aborted by the host');
  throw new WatchError('truncated', 'the stream ended before the answer did');
}

async function open(
  client: ModelClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<Stream> {
  const { body, headers } = buildRequest(request);
  const stream = await client.messages.create(body, { signal, headers });
  return stream[Symbol.asyncIterator]();
}

async function endsBySelf(stream: Stream, watchdog: Watchdog): Promise<boolean> {
  const late = () => new WatchError('stalled', 'the stream stays open after its end');
  return await watchdog.wait(stream.next(), LINGER_MS, late).then(
    ({ done }) => done === true,
    () => false,
  );
}

/** Without waiting: a stream that hangs would hang here too. Its socket is already aborted. */
function close(opening: Promise<Stream> | undefined): void {
  opening?.then((stream) => stream.return?.()).catch(() => {});
}

const endedWith = (answer: Accumulator): Ending => ({
  type: 'ended',
  stopReason: answer.stopReason,
  usage: answer.usage ?? noUsage,
  ...(answer.edited === undefined ? {} : { edited: answer.edited }),
  ...(answer.stopDetails === undefined ? {} : { stopDetails: answer.stopDetails }),
});

function failedWith(
  error: unknown,
  signal: AbortSignal,
  world: World,
  answer: Accumulator,
): Ending {
  const { usage } = answer;
  // First of all, for an abort makes every other error.
  if (signal.aborted) {
    const failure: Failure = { class: 'connection', detail: 'aborted by the host' };
    return { type: 'failed', failure, usage, isAborted: true };
  }
  const failure = classify(error, { nowMs: world.now(), random: world.random() });
  return { type: 'failed', failure, usage };
}

const noHeaders = (ms: number) => new WatchError('timeout', `no answer within ${ms / 1_000} s`);
const onlyPings = (ms: number) =>
  new WatchError('stalled', `the stream brought nothing but signs of life for ${ms / 1_000} s`);
