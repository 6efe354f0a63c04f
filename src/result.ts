/** The last word on a turn. */

import type { TerminalReason } from '../machines/reasons.ts';
import type { QueryResult } from '../machines/state.ts';
import { messageOf } from '../services/message-of.ts';
import { largestParts } from './context-usage.ts';
import type { EngineState } from './engine-state.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';
import type { ResultReason, SDKResultMessage } from './wire.ts';

export type TurnOutcome =
  | { readonly kind: 'queried'; readonly result: QueryResult }
  /** Answered without the model: a command, a hook that stopped the prompt. */
  | { readonly kind: 'answered'; readonly text: string; readonly reason: TerminalReason }
  | { readonly kind: 'setupFailed'; readonly error: unknown };

/** These end a turn as it was meant to end; every other reason is an error. */
const noError: readonly ResultReason[] = [
  'completed',
  'stop_hook_prevented',
  'hook_stopped',
  'tool_deferred',
];
/** The turn ended as it was meant to end. */
export const isGoodEnding = (reason: ResultReason): boolean => noError.includes(reason);
const subtypes: Partial<Record<ResultReason, SDKResultMessage['subtype']>> = {
  max_turns: 'error_max_turns',
  budget_exhausted: 'error_max_budget_usd',
  structured_output_retry_exhausted: 'error_max_structured_output_retries',
};
/** For people, where nothing was withheld that says it better. */
const sentences: Partial<Record<ResultReason, string>> = {
  max_turns: 'The turn limit was reached before the model was done.',
  budget_exhausted:
    'The rest of the budget cannot pay for another model call. A larger maxBudgetUsd lets it go on.',
  aborted_streaming: 'Interrupted.',
  aborted_tools: 'Interrupted while tools were running.',
  deadline_exceeded: 'The time limit of the turn was reached.',
  no_progress: 'The same calls kept giving the same results.',
  structured_output_retry_exhausted: 'The model gave no answer in the wanted shape.',
  rapid_refill_breaker: 'The context window fills again right after each summary.',
};

/** 13. Also of a turn that failed before it began. On disk when it is said; bare does not wait. */
export async function concludeTurn(
  engine: EngineState,
  turn: Turn,
  outcome: TurnOutcome,
): Promise<SDKResultMessage> {
  const { session, config } = engine;
  if (outcome.kind === 'queried') {
    engine.isDeferred = outcome.result.reason === 'tool_deferred';
    session.autoCompactTracking = outcome.result.autoCompactTracking;
  }
  if (turn.deferred) engine.isDeferred = true;
  let message = resultMessage(turn, outcome, session);
  turn.hasResult = true;
  session.transcript.note('result', {
    ...message,
    ...(turn.left?.isInterrupted ? { leavesOpen: true } : {}),
  });
  const written = session.transcript.commit().catch(() => {}); // told by `onDiskFailure`
  if (!config.bare) await written;
  // The last sync has failed: what was good is not, and this is the last place to say so.
  if (turn.hasLostDisk && !message.is_error) message = resultMessage(turn, outcome, session);
  return message;
}

function resultMessage(turn: Turn, outcome: TurnOutcome, session: Session): SDKResultMessage {
  const reason = reasonOf(outcome);
  const isError = turn.hasLostDisk || !noError.includes(reason);
  const used = session.usage.since(turn.usageBefore);
  const total = session.usage.snapshot();
  const result = outcome.kind === 'queried' ? outcome.result : undefined;
  return {
    type: 'result',
    subtype: isError ? (subtypes[reason] ?? 'error_during_execution') : 'success',
    is_error: isError,
    terminal_reason: reason,
    result: outcome.kind === 'answered' ? outcome.text : textOf(turn),
    errors: isError ? errorsOf(turn, outcome, reason, session) : [],
    stop_reason: result?.stopReason ?? null,
    ...(result?.failure?.status === undefined ? {} : { api_error_status: result.failure.status }),
    num_turns: result?.answerCount ?? 0,
    duration_ms: Math.round(performance.now() - turn.startedAt),
    duration_api_ms: Math.round(turn.apiMs),
    total_cost_usd: dollars(total.costUsd),
    run_cost_usd: dollars(session.usage.since(session.usageBefore).costUsd),
    usage: used.usage,
    modelUsage: Object.fromEntries(
      Object.entries(total.modelUsage).map(([model, sum]) => [
        model,
        { ...sum, costUSD: dollars(sum.costUSD) },
      ]),
    ),
    permission_denials: turn.denials,
    user_message_uuids: turn.promptUuids,
    uuid: session.uuid(),
    session_id: session.id,
    ...(turn.structuredOutput === undefined ? {} : { structured_output: turn.structuredOutput }),
    ...(turn.deferred === undefined ? {} : { deferred_tool_use: turn.deferred }),
    ...(result?.stopHookOverridden ? { stop_hook_overridden: true as const } : {}),
  };
}

/** Sums of fractions end in noise (`0.30000000000000004`): a hundredth of a millionth is exact. */
const dollars = (usd: number | null): number | null =>
  usd === null ? null : Number(usd.toFixed(8));

function reasonOf(outcome: TurnOutcome): ResultReason {
  switch (outcome.kind) {
    case 'queried':
      return outcome.result.reason;
    case 'answered':
      return outcome.reason;
    case 'setupFailed':
      return 'turn_setup_failed';
  }
}

/** A shape without words is its own result. */
const textOf = (turn: Turn): string =>
  turn.keptText === '' && turn.structuredOutput !== undefined
    ? JSON.stringify(turn.structuredOutput)
    : turn.keptText;

/** A person can do something about a full window only when it is said with what it is full. */
const ofSize: readonly ResultReason[] = ['blocking_limit', 'rapid_refill_breaker'];

function errorsOf(
  turn: Turn,
  outcome: TurnOutcome,
  reason: ResultReason,
  session: Session,
): readonly string[] {
  if (outcome.kind === 'setupFailed') {
    const { error } = outcome;
    const why = messageOf(error);
    const isSaid = turn.errors.some((text) => text.includes(why));
    return isSaid ? turn.errors : [...turn.errors, why];
  }
  const said = turn.errors.length > 0 ? turn.errors : [sentences[reason] ?? `Ended: ${reason}.`];
  if (outcome.kind !== 'queried' || !ofSize.includes(reason)) return said;
  return [...said, largestParts(session, outcome.result.history.head)];
}
