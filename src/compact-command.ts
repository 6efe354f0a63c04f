/** `/compact [instructions]`: a person wants the conversation summed up now. */
import type { TerminalReason } from '../machines/reasons.ts';
import type { CompactFault } from '../services/recovery/compact.ts';
import type { CommandContext, CommandOutcome, SessionCommand } from './config.ts';

/** How a turn ends that was only to make a summary. */
const endings: Readonly<Record<CompactFault, TerminalReason>> = {
  aborted: 'aborted_streaming',
  hook: 'hook_stopped',
  api: 'api_error',
  useless: 'model_error',
};

/** History, when it fails, is what it was; nothing to sum up is no failure. */
async function compactNow(argument: string, context: CommandContext): Promise<CommandOutcome> {
  const { state, signal, compact } = context;
  const outcome = await compact({
    state,
    trigger: 'manual',
    ...(argument === '' ? {} : { customInstructions: argument }),
    signal,
  });
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
  description: 'Sums up the conversation; wishes for the summary may follow',
  run: compactNow,
};
