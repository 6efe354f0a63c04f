/** What the host should know of a session file that was damaged. */
import type { Restored } from '../services/journal/restore.ts';

/** @param cutBytes of a last line that a crash had cut, and that was taken off. */
export function journalNotices(cutBytes: number, restored: Restored | undefined): string[] {
  const { damagedLines = 0, damagedBlocks = 0, gaps = 0 } = restored ?? {};
  const notices = [
    cutBytes > 0 && `a last line that a crash had cut was taken off (${cutBytes} bytes)`,
    damagedLines > 0 && `${damagedLines} damaged line(s) were skipped; they are left as they are`,
    damagedBlocks > 0 &&
      `${damagedBlocks} damaged block(s) were skipped; they are left as they are`,
    gaps > 0 && `${gaps} message(s) have lost the one before them, which was guessed`,
  ];
  return notices.flatMap((text) => (text ? [`Resumed session: ${text}.`] : []));
}
