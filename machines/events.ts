/**
 * The alphabet: what the chart hears (`noun.pastVerb`, facts) and what it says. Ids, times and dice
 * come in here and nowhere else.
 */

import type { QueryLimits } from './limits.ts';
import type { ContinueReason } from './reasons.ts';
import type { Cursor, Failure, Flaw, MessageRef, StopReason } from './state.ts';

/** What a call to a model has cost. */
type Cost = { readonly usd: number };

export type QueryEvent =
  // the host
  | { type: 'abort' }
  // preprocess: one answer for each stage
  | ({
      type: 'stage.done';
      history: Cursor;
      compaction?: 'done' | 'failed';
      /** From the last stage: what sending the prompt will probably cost. */
      promptUsd?: number;
    } & Cost)
  // the model: opened, blocks, then exactly one of ended and failed
  | { type: 'stream.opened' }
  | { type: 'stream.message'; message: MessageRef }
  | { type: 'stream.toolUse'; id: string; deadlineMs: number; message: MessageRef }
  | ({ type: 'stream.ended'; stopReason: StopReason; tokens: number; outputTokens: number } & Cost)
  | ({ type: 'request.failed'; failure: Failure } & Cost)
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
  | { type: 'person.asked'; question: string; toolUseId: string }
  | { type: 'person.answered'; question: string }
  | { type: 'tools.drained' }
  | { type: 'tools.stopped' }
  | { type: 'tools.deferred'; ids: readonly string[] }
  | { type: 'attachments.ready'; messages: readonly MessageRef[] }
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
  /** These stand now, in this order: history goes on from `from` to `to`. */
  | { type: 'agreed'; from: string; to: string; messages: readonly MessageRef[] }
  /** The model has answered: hooks after sampling may look at it. */
  | { type: 'sampled'; iteration: number }
  | { type: 'maxTurnsReached'; maxTurns: number; turnCount: number }
  | { type: 'transition'; reason: ContinueReason | undefined; iteration: number }
  | { type: 'retry'; attempt: number; attemptsMax: number; delayMs: number; failure: Failure }
  | { type: 'fallback'; from: string; to: string }
  | { type: 'person'; openQuestions: number }
  | { type: 'warning'; text: string }
  | { type: 'error'; flaw: Flaw; detail: string };

/** What the chart says to the tool executor. */
export type ToolCommand =
  | Extract<QueryEvent, { type: 'stream.toolUse' }>
  // no more calls will come: say drained, stopped or deferred when all are answered
  | { type: 'tools.drain' }
  | { type: 'tools.discard' }; // stop what runs; what is still heard of it is not listened to
