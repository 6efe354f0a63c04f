/**
 * Failures from a seed: everything that a model API is known to do to its clients. The same seed
 * gives the same failures, so a test that fails with one can be run again.
 */
import { diceOf } from './dice.ts';
import {
  cut,
  emptyBody,
  httpError,
  overloaded,
  proxyError,
  rateLimited,
  serverError,
  silent,
  tooLarge,
  tooLong,
} from './replies.ts';
import type { Fault, MessageReply, Position, Reply, Step } from './script.ts';
import { streamBlock } from './stream-block.ts';

export interface FaultsOptions {
  /**
   * Also failures that only a deadline of the client ends: silence, stalls, pings and drips for
   * ever. Default: false, so that a test needs no small deadlines.
   */
  readonly endless?: boolean;
}

export interface AmongOptions {
  /** That a reply has failures before it. Default: 0.5. */
  readonly chance?: number;
  /** Failures before one reply. Default: 2, below the retries of any client. */
  readonly inARowMax?: number;
}

/** Draws failures. Each call draws on from where the one before has ended. */
export interface Faults {
  /** A request fails, and may be tried again: 529, 429, 5xx, a proxy's page, a broken connection. */
  passing(): Reply;
  /** A request fails, and would fail again as it is: 400, 401, 403, 404, 413, too long. */
  final(): Reply;
  /** The same answer, broken at any place of its stream. What was whole before it has arrived. */
  broken(reply: MessageReply): MessageReply;
  /**
   * A conversation with failures in it. A client that recovers ends as it would without them, and
   * makes no call twice: answers break only before their first whole block, then come again.
   */
  among(replies: readonly Step[], options?: AmongOptions): Step[];
}

/**
 * @example
 * const server = createScriptedServer({
 *   replies: faults(7).among([callTool('Read', { file_path: 'package.json' }), say('done')]),
 * });
 */
export function faults(seed: number, { endless = false }: FaultsOptions = {}): Faults {
  const dice = diceOf(seed);
  const passing = () =>
    passingReplies[
      dice.weighted({
        ...{ overloaded: 3, limited: 2, server: 2, proxy: 2, cut: 2, empty: 1, noStream: 1 },
        silent: endless ? 2 : 0,
      })
    ]();
  const faultAt = (after: Position): Fault => {
    const kind = dice.weighted({
      ...{ cut: 2, reset: 1, end: 2, error: 3, garbage: 1 },
      ...{ stall: endless ? 1 : 0, pings: endless ? 1 : 0, drip: endless ? 1 : 0 },
    });
    return streamFaults[kind](after);
  };
  return {
    passing,
    final: () => dice.pick(finalReplies)(),
    broken: (reply) => ({ ...reply, fault: faultAt(dice.pick(placesOf(reply))) }),
    among: (replies, { chance = 0.5, inARowMax = 2 } = {}) =>
      replies.flatMap((step) => {
        const times = dice.chance(chance) ? dice.between(1, inARowMax) : 0;
        const before = Array.from({ length: times }, (): Step => {
          const isWhole = typeof step !== 'object' || step.kind !== 'message';
          if (isWhole || dice.chance(0.5)) return withWhen(passing(), step);
          return { ...step, fault: faultAt(dice.pick(earlyPlacesOf(step))) };
        });
        return [...before, step];
      }),
  };
}

/** A branch of the script stays one: its failures are for the requests that it answers. */
const withWhen = (reply: Reply, step: Step): Reply =>
  typeof step === 'object' && step.when ? { ...reply, when: step.when } : reply;

const passingReplies = {
  overloaded: () => overloaded(),
  limited: () => rateLimited('0'),
  server: () => serverError(),
  proxy: () => proxyError(502, 'Bad Gateway'),
  cut: () => cut(),
  empty: () => emptyBody(),
  noStream: (): Reply => ({ kind: 'raw', status: 200, body: 'upstream connect error' }),
  silent: () => silent(),
} as const satisfies Record<string, () => Reply>;

const finalReplies: readonly (() => Reply)[] = [
  () => tooLong(),
  () => tooLarge(),
  () => proxyError(413, 'Request Entity Too Large'),
  () =>
    httpError(
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again',
    ),
  () => httpError(400, 'invalid_request_error', 'messages.0.content.0.image: Could not process'),
  () => httpError(400, 'invalid_request_error', 'tools.0: unexpected'),
  () => httpError(401, 'authentication_error', 'invalid x-api-key'),
  () => httpError(402, 'billing_error', 'Your credit balance is too low'),
  () => httpError(403, 'permission_error', 'not allowed'),
  () => httpError(404, 'not_found_error', 'model: no such model'),
  () => rateLimited('3600'),
  () => serverError({ headers: { 'x-should-retry': 'false' } }),
];

const streamFaults = {
  cut: (after) => ({ kind: 'cut', after }),
  reset: (after) => ({ kind: 'cut', after, reset: true }),
  end: (after) => ({ kind: 'end', after }),
  error: (after) => ({ kind: 'error', after }),
  garbage: (after) => ({ kind: 'garbage', after }),
  stall: (after) => ({ kind: 'stall', after }),
  pings: (after) => ({ kind: 'stall', after, pingEveryMs: 20 }),
  drip: (after) => ({ kind: 'drip', after, everyMs: 20 }),
} as const satisfies Record<string, (after: Position) => Fault>;

/** Before the first block is whole. */
const earlyPlacesOf = ({ content }: MessageReply): readonly Position[] => [
  'headers',
  'message_start',
  { events: 1 },
  { bytes: 17 },
  ...(content.length > 0 ? ([{ block: 0, delta: -1 }] as const) : []),
];

function placesOf(reply: MessageReply): readonly Position[] {
  const blocks = reply.content.map((block) => streamBlock(block, () => 'toolu'));
  return [
    ...earlyPlacesOf(reply),
    ...blocks.flatMap(({ deltas }, block): Position[] => [
      { block },
      ...deltas.map((_, delta) => ({ block, delta })),
    ]),
    'blocks',
    'message_delta',
  ];
}
