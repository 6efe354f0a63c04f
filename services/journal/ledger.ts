/** The write-ahead ledger as lines of the session, and versions of files before they change. */
import type { Ledger, LedgerCall } from '../tools/executor/deps.ts';
import type { FileCheckpoints } from './checkpoints.ts';
import type { Transcript } from './transcript.ts';

export interface LedgerDeps {
  readonly transcript: Transcript;
  readonly checkpoints: FileCheckpoints;
  /** Scripted calls do not wait for the disk. */
  readonly isBare: boolean;
}

/** A call with side effects is on disk before it runs, and so is what it will overwrite. */
export function createLedger({ transcript, checkpoints, isBare }: LedgerDeps): Ledger {
  const fieldsOf = ({ id, name, inputHash }: LedgerCall) => ({ toolUseId: id, name, inputHash });
  return {
    async started(call) {
      await checkpoints.before(call);
      transcript.note('tool_started', fieldsOf(call));
      const safe = transcript.commit();
      if (isBare) safe.catch(() => {});
      else await safe;
    },
    async finished(call) {
      await checkpoints.after(call);
      transcript.note('tool_finished', { ...fieldsOf(call), isError: call.isError });
    },
  };
}
