/**
 * What an agent says, in the file of its session: its messages on a side of their own, its other
 * lines under names that nobody takes for the session's.
 */
import type { Transcript } from '../services/journal/transcript.ts';

/** @param parentToolUseId the call that the agent works for. */
export function sideTranscript(session: Transcript, parentToolUseId: string): Transcript {
  const note: Transcript['note'] = (type, fields, manner) =>
    session.note(`agent-${type}`, { ...fields, parentToolUseId }, manner);
  return {
    path: session.path,
    open: () => Promise.resolve(0),
    record: (message) => session.record(message),
    amend: (message) => session.amend(message),
    retract: (uuid) => session.retract(uuid),
    compacted: ({ trigger, preTokens, postTokens }) =>
      note('compact_boundary', { trigger, preTokens, postTokens }),
    rewind: (to) => note('rewind', { to }),
    note,
    used: (model, usage, costUsd) => session.used(model, usage, costUsd),
    commit: () => session.commit(),
    close: () => Promise.resolve(),
  };
}
