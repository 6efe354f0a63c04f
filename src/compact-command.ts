/** `/compact [instructions]`: a person wants the conversation summed up now. */
import { LONGEST_MS } from '../machines/limits.ts';
import type { TerminalReason } from '../machines/reasons.ts';
import type { CompactFault } from '../services/recovery/compact.ts';
import type { CommandContext, CommandOutcome, SessionCommand } from './config.ts';

/** How a turn ends that was only to make a summary. */
const endings: Readonly<Record<CompactFault, TerminalReason>> = {
  aborted: 'aborted_streaming',
  hook: 'hook_stopped',
  api: 'api_error',
  useless: 'model_error',
  unpaid: 'budget_exhausted',
};

/**
 * History, when it fails, is what it was; nothing to sum up is no failure. No chart runs, so the
 * deadline that it would set for a summary is set here.
 */
async function compactNow(argument: string, context: CommandContext): Promise<CommandOutcome> {
  const { state, signal, compact } = context;
  const { summaryMs } = state.limits;
  const deadline = AbortSignal.timeout(Math.min(summaryMs, LONGEST_MS));
  const outcome = await compact({
    state,
    trigger: 'manual',
    ...(argument === '' ? {} : { customInstructions: argument }),
    signal: AbortSignal.any([signal, deadline]),
  });
  if (outcome.kind === 'failed' && deadline.aborted && !signal.aborted) {
    const error = `Not summed up: no summary within ${summaryMs / 1_000} s.`;
    return { history: state.history, text: '', reason: 'model_error', error };
  }
  const unchanged = { history: state.history };
  switch (outcome.kind) {
    case 'done':
      return {
        history: outcome.history,
        text: `The conversation was summed up: about ${outcome.history.tokens} tokens now.`,
        reason: 'completed',
      };
    case 'nothing':
      return { ...unchanged, text: `Not summed up: ${outcome.reason}.`, reason: 'completed' };
    case 'failed': {
      const reason = endings[outcome.fault];
      const text = `Not summed up: ${outcome.reason}.`;
      return reason === 'hook_stopped'
        ? { ...unchanged, text, reason }
        : { ...unchanged, text: '', reason, error: text };
    }
  }
}

export const compactCommand: SessionCommand = {
  type: 'session',
  name: 'compact',
  description: 'Sums up the conversation',
  argumentHint: '[wishes for the summary]',
  run: compactNow,
};
