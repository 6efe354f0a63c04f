/** What the session is doing right now, in a few words: for the line with the spinner. */
import { isRecord } from '../../../services/is-record.ts';
import type { SDKMessage } from '../../wire.ts';
import { clipCells } from '../cells.ts';
import { printable } from '../printable.ts';

/** A plain value. Times are milliseconds of one clock, whichever it is. */
export type Status =
  | { readonly kind: 'starting' | 'requesting' | 'answering' | 'summarising' | 'stopping' }
  | { readonly kind: 'waiting'; readonly untilMs: number }
  | { readonly kind: 'tools'; readonly open: Readonly<Record<string, string>> };

/** Follows the messages of a turn. Most of them change nothing. */
export function nextStatus(status: Status, message: SDKMessage, nowMs: number): Status {
  // What was told to stop only ends.
  if (status.kind === 'stopping') return status;
  switch (message.type) {
    case 'stream_event': {
      const type = isRecord(message.event) ? message.event.type : undefined;
      return type === 'content_block_delta' ? { kind: 'answering' } : status;
    }
    case 'assistant':
      return message.message.content.reduce<Status>(
        (now, block) => (block.type === 'tool_use' ? begun(now, block.id, block.name) : now),
        status,
      );
    case 'user':
      return answered(status, message);
    case 'tool_progress':
      return begun(status, message.tool_use_id, message.tool_name);
    case 'system':
      if (message.subtype === 'api_retry') {
        return { kind: 'waiting', untilMs: nowMs + message.retry_delay_ms };
      }
      if (message.subtype !== 'status') return status;
      return message.status === 'compacting' ? { kind: 'summarising' } : { kind: 'requesting' };
    default:
      return status;
  }
}

const openCalls = (status: Status): Readonly<Record<string, string>> =>
  status.kind === 'tools' ? status.open : {};

const begun = (status: Status, id: string, name: string): Status => ({
  kind: 'tools',
  open: { ...openCalls(status), [id]: name },
});

function answered(status: Status, message: Extract<SDKMessage, { type: 'user' }>): Status {
  const { content } = message.message;
  if (status.kind !== 'tools' || typeof content === 'string') return status;
  const open: Record<string, string> = { ...status.open };
  for (const block of content) if (block.type === 'tool_result') delete open[block.tool_use_id];
  return Object.keys(open).length > 0 ? { kind: 'tools', open } : { kind: 'requesting' };
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/** Time between two frames of the spinner. */
export const FRAME_MS = 120;
const NAMES_CELLS_MAX = 40;

/** `⠹ running Bash · 3 s`. @param elapsedMs since the turn began. */
export function statusText(status: Status, nowMs: number, elapsedMs: number): string {
  const frame = frames[Math.floor(elapsedMs / FRAME_MS) % frames.length];
  return `${frame} ${wordsOf(status, nowMs)} · ${Math.floor(elapsedMs / 1_000)} s`;
}

function wordsOf(status: Status, nowMs: number): string {
  switch (status.kind) {
    case 'starting':
      return 'starting';
    case 'requesting':
      return 'waiting for the model';
    case 'answering':
      return 'answering';
    case 'summarising':
      return 'summarising the conversation';
    case 'stopping':
      return 'stopping';
    case 'waiting':
      return `trying again in ${(Math.max(0, status.untilMs - nowMs) / 1_000).toFixed(1)} s`;
    case 'tools': {
      const names = [...new Set(Object.values(status.open))].map(printable);
      return `running ${clipCells(names.join(', '), NAMES_CELLS_MAX)}`;
    }
  }
}
