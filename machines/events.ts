/**
 * The alphabet: what the chart hears (`noun.pastVerb`, facts) and what it says. Ids, times and dice
 * come in here and nowhere else.
 */

import type { QueryLimits } from './limits.ts';
import type { ContinueReason } from './reasons.ts';
import type { Cursor, Failure, Flaw, MessageRef, StopReason } from './state.ts';
import type { BudgetCompletion } from './token-budget.ts';

/** What a call to a model has cost. */
type Cost = { readonly usd: number };

export type QueryEvent =
  // the host; the clock (`maxDurationMs` is over)
  | { type: 'abort' }
  | { type: 'time.ranOut' }
  // preprocess: one answer for each stage
  | ({
      type: 'stage.done';
      history: Cursor;
      compaction?: 'done' | 'failed';
      /** From the first and the last stage: all that was billed, also what nobody told the chart of. */
      spentUsd?: number;
      /** From the same: what the model has said for this query, also what nobody heard the end of. */
      outputTokens?: number;
      /** From the last stage: what sending the prompt will probably cost. */
      promptUsd?: number;
    } & Cost)
  // the model: opened, blocks, then exactly one of ended and failed
  | { type: 'stream.opened' }
  | { type: 'stream.message'; message: MessageRef }
  | { type: 'stream.toolUse'; id: string; deadlineMs: number; message: MessageRef }
  | ({ type: 'stream.ended'; stopReason: StopReason; tokens: number; outputTokens: number } & Cost)
  | ({ type: 'request.failed'; failure: Failure; outputTokens?: number } & Cost)
  | { type: 'model.switched'; model: string; limits: Partial<QueryLimits> }
  // the tools: each call is answered once; then, asked to drain, exactly one of drained, stopped
  // and deferred
  | {
      type: 'tool.result';
      id: string;
      message: MessageRef;
      fingerprint: string;
      schemaTry?: 'valid' | 'invalid';
    }
  // `atMs`: when, in both or in none; the query's own time stands still in between
  | { type: 'person.asked'; question: string; toolUseId: string; atMs?: number }
  | { type: 'person.answered'; question: string; atMs?: number }
  | { type: 'tools.drained' }
  | { type: 'tools.stopped' }
  | { type: 'tools.deferred'; ids: readonly string[] }
  | { type: 'attachments.ready'; messages: readonly MessageRef[] }
  // a line for people on what the last round did; nobody waits for it
  | ({ type: 'round.described'; text: string; toolUseIds: readonly string[] } & Cost)
  // recovery
  | { type: 'collapse.drained'; history: Cursor }
  | { type: 'collapse.empty' }
  | { type: 'media.stripped'; history: Cursor; left: number }
  | { type: 'media.absent' }
  | ({ type: 'compact.done'; history: Cursor } & Cost)
  | ({ type: 'compact.failed' } & Cost)
  // stop hooks
  | { type: 'hooks.passed' }
  | { type: 'hooks.prevented' }
  | { type: 'hooks.blocked'; errors: readonly MessageRef[] };

/** What the chart says to the host. Text deltas do not come through here. */
export type QueryOutput =
  | { type: 'message'; message: MessageRef }
  | { type: 'tombstone'; uuid: string }
  /**
   * These stand now, in this order: history goes on from `from` to `to`. At the end of an
   * iteration, and at once from the first call on that was handed to the executor.
   */
  | { type: 'agreed'; from: string; to: string; messages: readonly MessageRef[] }
  /** The model has answered: hooks after sampling may look at it. */
  | { type: 'sampled'; iteration: number }
  | { type: 'maxTurnsReached'; maxTurns: number; turnCount: number }
  /** An iteration begins. `attempt`: for how many of them in a row it was this reason. */
  | { type: 'transition'; reason: ContinueReason | undefined; attempt: number; iteration: number }
  | { type: 'retry'; attempt: number; attemptsMax: number; delayMs: number; failure: Failure }
  | { type: 'fallback'; from: string; to: string }
  | { type: 'person'; openQuestions: number }
  /** The answer was complete, and there is room in the token budget: the model is nudged on. */
  | { type: 'budgetContinued'; continuationCount: number; percentage: number }
  | { type: 'budgetCompleted'; completionEvent: BudgetCompletion }
  | { type: 'roundDescribed'; text: string; toolUseIds: readonly string[] }
  | { type: 'warning'; text: string }
  | { type: 'error'; flaw: Flaw; detail: string };

/** What the chart says to the service that describes rounds: read the log between the two heads. */
export type DescribeCommand = { type: 'round.describe'; from: string; to: string };
/** What the chart says to the tool executor. */
export type ToolCommand =
  | Extract<QueryEvent, { type: 'stream.toolUse' }>
  // no more calls will come: say drained, stopped or deferred when all are answered
  | { type: 'tools.drain' }
  | { type: 'tools.discard' }; // stop what runs; what is still heard of it is not listened to
