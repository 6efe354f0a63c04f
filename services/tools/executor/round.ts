/** The calls of one assistant message, and how far each has come. */
import type { LogMessage, ToolUseBlock } from '../../messages.ts';
import type { ToolInput } from '../tool.ts';
import type { Answer } from './answer.ts';
import type { ReadyCall } from './permit.ts';
import type { Place } from './schedule.ts';

/** Each state carries what it needs, and nothing else. */
export type CallState =
  | { readonly status: 'unparsed' }
  /** Will not run: no such tool, no such input. */
  | { readonly status: 'refused'; readonly answer: Answer }
  | { readonly status: 'ready'; readonly call: ReadyCall; readonly isSafe: boolean }
  | {
      readonly status: 'running';
      readonly call: ReadyCall;
      readonly isSafe: boolean;
      /** Set while the call waits until it is alone. */
      readonly whenAlone?: () => void;
      /** Set while the tool itself works. */
      readonly work?: { readonly sinceMs: number; readonly gist: string };
    }
  | { readonly status: 'answered'; readonly answer: Answer }
  | { readonly status: 'deferred'; readonly input: ToolInput };

export interface Entry {
  readonly block: ToolUseBlock;
  readonly message: LogMessage;
  readonly controller: AbortController;
  /** The bound that the chart knows of: its wait is computed from it. */
  readonly deadlineMs: number;
  /** What runs: parsed, then edited. */
  input: unknown;
  state: CallState;
}

export interface Round {
  readonly entries: Entry[];
  isDraining: boolean;
  /** All answered, and the hooks of the batch are at work or done. */
  isComplete: boolean;
  /** Said to the chart, or to nobody when it was discarded: nothing more is coming. */
  isOver: boolean;
  /** Why nothing of this round may begin any more. */
  halted: string | undefined;
  /** A hook ends the turn when the round is complete. */
  isStopped: boolean;
}

export const freshRound = (): Round => ({
  entries: [],
  isDraining: false,
  isComplete: false,
  isOver: false,
  halted: undefined,
  isStopped: false,
});

/** What the queue has to know of a call. */
export const placeOf = ({ state }: Entry): Place => {
  switch (state.status) {
    case 'unparsed':
      return { status: 'unparsed' };
    case 'ready':
      return { status: 'ready', isSafe: state.isSafe };
    case 'running':
      return { status: 'running', isSafe: state.isSafe, isWaiting: state.whenAlone !== undefined };
    case 'refused':
    case 'answered':
    case 'deferred':
      return { status: 'over' };
  }
};
