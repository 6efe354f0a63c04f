/**
 * Calls that a dead process has left without an answer, and what becomes of each. Pure: the ledger
 * says what was begun, the host decides what nobody can know.
 */
import type { LogMessage, ToolUseBlock } from '../messages.ts';
import type { LedgerState } from './restore.ts';

export interface OpenCall {
  readonly block: ToolUseBlock;
  readonly message: LogMessage;
}

/** The calls of the last answer that have no result. Looks at the last round only. */
export function openCalls(messages: readonly LogMessage[]): readonly OpenCall[] {
  const calls: OpenCall[] = [];
  const answered = new Set<string>();
  let apiId: string | undefined;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (!message) break;
    if (message.role === 'assistant') {
      apiId ??= message.apiId ?? message.uuid;
      if ((message.apiId ?? message.uuid) !== apiId) break;
    }
    for (const block of message.content) {
      if (block.type === 'tool_use') calls.unshift({ block, message });
      if (block.type === 'tool_result') answered.add(block.tool_use_id);
    }
  }
  return calls.filter(({ block }) => !answered.has(block.id));
}

/** What is known of a call, from the most to the least. */
export type Fate =
  /** Nothing has happened: a person or a hook was still to decide. */
  | { readonly kind: 'undecided' }
  /** It changes nothing: it can be made again. */
  | { readonly kind: 'repeatable' }
  /** The ledger knows nothing of it, and it would, had the call begun. */
  | { readonly kind: 'notRun' }
  /** It was begun; whether it has done its work, and how much of it, nobody knows. */
  | { readonly kind: 'unknown' }
  /** It came to its end, but its result was not written down. */
  | { readonly kind: 'finished' };

export interface Known {
  readonly isReadOnly: boolean;
  /** There is a ledger: without one (a foreign session) nothing is known. */
  readonly hasLedger: boolean;
  readonly ledger: LedgerState | undefined;
  /** The turn ended with its open calls left to the host. */
  readonly isDeferred: boolean;
}

export function fateOf({ isReadOnly, hasLedger, ledger, isDeferred }: Known): Fate {
  if (ledger?.isFinished) return { kind: 'finished' };
  if (ledger) return { kind: 'unknown' };
  if (isDeferred) return { kind: 'undecided' };
  if (isReadOnly) return { kind: 'repeatable' };
  return { kind: hasLedger ? 'notRun' : 'unknown' };
}

/** What the model is told. Each says what happened and what can be done about it. */
export const orphanTexts = {
  notRun:
    'The call was not run: the session ended before it began. Make it again if it is still needed.',
  unknown:
    'The session ended while this call ran, before its result was known: the outcome is unknown. ' +
    'It may have run in part or in whole. Look at what is there before you repeat it.',
  finished:
    'This call has run to its end, but the session ended before its result was written down: ' +
    'what it said is unknown. It was not run again. Look at what is there before you repeat it.',
} as const;
