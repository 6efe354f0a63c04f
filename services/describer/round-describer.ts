/**
 * Says in a line what a round of tools has done: for people, in the background, by the small model.
 * Nothing waits for it but the next attaching, and that for a second. A line that is not there by
 * then is given up, and so is one whose query ends; what it has used is billed all the same.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { DescribeCommand } from '../../machines/events.ts';
import type { QueryState } from '../../machines/state.ts';
import type { Line } from '../as-actor.ts';
import type { MessageLog } from '../message-log.ts';
import type { SmallModel } from '../model/ask-small-model.ts';
import { callsOf } from '../preprocess/rounds.ts';
import type { Tell } from '../preprocess/stage.ts';
import { DESCRIBE_PROMPT, describeQuestion, readDescription } from './describe-prompt.ts';

export interface RoundDescriberDeps {
  readonly log: MessageLog;
  readonly smallModel: Pick<SmallModel, 'ask' | 'mayPay'>;
  /** Tokens. */
  readonly sizeOf: (text: string) => number;
  readonly tell: Tell;
}

export interface RoundDescriber {
  /** The chart's `roundDescriber`. Resolves when the last word was said, or billed. */
  talk(line: Line<DescribeCommand>): Promise<void>;
  /** At an attaching: waits a moment for the line that is being written, or gives it up. */
  settle(state: QueryState): Promise<void>;
}

/** The next attaching comes seconds after the round: what is not there a second later is stuck. */
const PENDING_MS = 1_000;
/** Of the chart's own deadline for attaching. */
const DEADLINE_SHARE = 0.8;
/** Nobody wants to read it later than that. */
const DESCRIBE_MS = 30_000;
/** Ten words have thirty; a model that does not keep to them is cut. */
const ANSWER_TOKENS = 100;
/** A server that cannot do it is not asked for ever. */
const FAILURES_MAX = 3;

interface Pending {
  /** Resolves when it was said, failed, or given up, and billed. Never rejects. */
  readonly settled: Promise<void>;
  readonly giveUp: () => void;
}

/** One for each query. */
export function createRoundDescriber(deps: RoundDescriberDeps): RoundDescriber {
  let pending: Pending | undefined;
  let failures = 0;
  const running = new Set<Promise<void>>();

  const fail = (why: string) => {
    failures += 1;
    if (failures < FAILURES_MAX) return;
    const text = `Rounds of tools are not described any more in this turn: ${why}`;
    deps.tell({ type: 'warning', text });
  };
  const describe = async (
    { state, send, signal: isOver }: Line<DescribeCommand>,
    { from, to }: DescribeCommand,
    signal: AbortSignal,
  ) => {
    const messages = deps.log.since(from, to);
    const question = describeQuestion(messages);
    if (question === undefined || failures >= FAILURES_MAX) return;
    const size = { prompt: deps.sizeOf(DESCRIBE_PROMPT + question), answer: ANSWER_TOKENS };
    if (!deps.smallModel.mayPay(state.model, size)) return;
    const answer = await deps.smallModel.ask({
      ...{ main: state.model, signal, querySource: 'tool_summary' },
      ...{ system: DESCRIBE_PROMPT, text: question, maxTokens: ANSWER_TOKENS },
    });
    if (isOver.aborted || (!answer.ok && answer.isUnpaid)) return; // nobody has failed
    const line = answer.ok ? readDescription(answer.text) : undefined;
    if (line === undefined || signal.aborted) {
      const problem = answer.ok ? 'the model said nothing' : answer.reason;
      fail(signal.aborted ? 'they come too late' : problem);
      return;
    }
    failures = 0;
    const toolUseIds = messages.flatMap(callsOf).map(({ id }) => id);
    send({ type: 'round.described', text: line, toolUseIds, usd: answer.usd });
  };
  const begin = (
    line: Line<DescribeCommand>,
    command: DescribeCommand,
    onBug: (error: unknown) => void,
  ) => {
    const before = pending;
    before?.giveUp();
    const control = new AbortController();
    const signal = AbortSignal.any([line.signal, control.signal, AbortSignal.timeout(DESCRIBE_MS)]);
    // One at a time: whether the one before has failed counts for this one.
    const settled = Promise.resolve(before?.settled)
      .then(() => describe(line, command, signal))
      .catch(onBug);
    running.add(settled);
    void settled.finally(() => running.delete(settled));
    pending = { settled, giveUp: () => control.abort() };
  };

  return {
    talk: (line) =>
      new Promise((resolve, reject) => {
        const end = () => void Promise.all(running).then(() => resolve());
        line.onCommand((command) => begin(line, command, reject));
        if (line.signal.aborted) end();
        line.signal.addEventListener('abort', end, { once: true });
      }),
    settle: async ({ limits }) => {
      const waited = pending;
      if (!waited) return;
      const patience = new AbortController();
      const waitMs = Math.min(PENDING_MS, limits.attachMs * DEADLINE_SHARE);
      const late = delay(waitMs, undefined, { signal: patience.signal }).catch(() => {});
      await Promise.race([waited.settled, late]);
      patience.abort();
      waited.giveUp();
    },
  };
}
