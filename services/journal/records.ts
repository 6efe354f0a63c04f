/**
 * What stands in a session's file, line by line. Messages have the shape that viewers of Claude
 * Code transcripts read, a tree by `uuid` and `parentUuid`; everything else has a `type` of its own
 * that viewers pass over.
 */
import { isRecord } from '../is-record.ts';
import type { ContentBlock, LogMessage, Origin } from '../messages.ts';
import type { Usage } from '../model/types.ts';
import { soundBlocks } from './sound-blocks.ts';
import type { JournalRecord } from './store.ts';

/** Of our own lines. A reader refuses what is newer than itself. */
export const SCHEMA = 1;

/** What every line of one session says of it. */
export interface LineStamp {
  readonly sessionId: string;
  readonly cwd: string;
  readonly version: string;
}

/** Usage of a session up to here, by model: sums, so that older lines need no look. */
export type Totals = Readonly<Record<string, Usage>>;
/** What it has cost, in dollars, by model: as it was paid, which no sum of tokens can tell. */
export type Costs = Readonly<Record<string, number>>;

/** A message as its line. @param parentUuid what it was said after, in this branch. */
export function lineOf(
  message: LogMessage,
  parentUuid: string | null,
  { sessionId, cwd, version }: LineStamp,
): JournalRecord {
  const { uuid, role } = message;
  const api =
    role === 'assistant'
      ? { id: message.apiId ?? uuid, type: 'message', role, model: message.model }
      : { role };
  return {
    parentUuid,
    isSidechain: message.parentToolUseId !== undefined,
    userType: 'external',
    type: role,
    uuid,
    sessionId,
    cwd,
    version,
    timestamp: message.timestamp,
    origin: message.origin,
    kind: message.kind,
    ...(message.isMeta ? { isMeta: true } : {}),
    ...(message.unreadable ? { unreadable: message.unreadable } : {}),
    ...(message.parentToolUseId ? { parentToolUseId: message.parentToolUseId } : {}),
    ...(message.toolUseResult === undefined ? {} : { toolUseResult: message.toolUseResult }),
    message: { ...api, content: message.content },
  };
}

/** What a line says, and how much of it can not be used. */
export interface LineReading {
  readonly messages: readonly LogMessage[];
  /** It should be a message, and is none. */
  readonly isDamaged: boolean;
  /** Blocks of a message that were left out. */
  readonly damagedBlocks: number;
}

const nothing: LineReading = { messages: [], isDamaged: false, damagedBlocks: 0 };

/** Nothing for a line that says nothing (a retry notice, an error that was only shown). */
export function readMessages(line: JournalRecord): LineReading {
  const { type, uuid, message } = line;
  if ((type !== 'user' && type !== 'assistant') || line.isApiErrorMessage === true) return nothing;
  const sound = isRecord(message) ? soundBlocks(message.content) : undefined;
  if (!sound || !isRecord(message) || typeof uuid !== 'string') {
    return { ...nothing, isDamaged: true };
  }
  const { blocks, damaged } = sound;
  const messages = blocks.length === 0 ? [] : messagesWith(blocks, { line, type, uuid, message });
  return { messages, isDamaged: false, damagedBlocks: damaged };
}

export const messagesOf = (line: JournalRecord): readonly LogMessage[] =>
  readMessages(line).messages;

interface MessageLine {
  readonly line: JournalRecord;
  readonly type: 'user' | 'assistant';
  readonly uuid: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** One of ours is one message, an assistant line of another program may hold several blocks. */
function messagesWith(
  content: readonly ContentBlock[],
  { line, type, uuid, message }: MessageLine,
): readonly LogMessage[] {
  const { timestamp } = line;
  const base = {
    role: type,
    timestamp: typeof timestamp === 'string' ? timestamp : new Date(0).toISOString(),
    ...(line.isMeta === true ? { isMeta: true } : {}),
    ...(line.toolUseResult === undefined ? {} : { toolUseResult: line.toolUseResult }),
    ...(typeof line.parentToolUseId === 'string' ? { parentToolUseId: line.parentToolUseId } : {}),
    ...(isRecord(line.unreadable)
      ? { unreadable: line.unreadable as unknown as NonNullable<LogMessage['unreadable']> }
      : {}),
  } as const;
  if (type === 'user') return [{ ...base, uuid, ...userKind(line, content), content }];
  const api = {
    apiId: typeof message.id === 'string' ? message.id : uuid,
    ...(typeof message.model === 'string' ? { model: message.model } : {}),
  };
  return content.map((block, at) => ({
    ...base,
    ...api,
    ...assistantKind(block),
    uuid: at === 0 ? uuid : `${uuid}#${at}`,
    origin: 'model',
    content: [block],
  }));
}

function userKind(line: JournalRecord, content: readonly ContentBlock[]) {
  const origin = origins.find((known) => known === line.origin);
  const [first] = content;
  if (first?.type === 'tool_result') {
    return {
      kind: 'tool_result',
      toolUseId: first.tool_use_id,
      origin: origin ?? 'tool',
    } as const;
  }
  const guessed = line.isCompactSummary === true ? 'summary' : line.isMeta ? 'nudge' : 'prompt';
  return { kind: 'note', origin: origin ?? guessed } as const;
}

function assistantKind(block: ContentBlock): Pick<LogMessage, 'kind' | 'toolUseId'> {
  switch (block.type) {
    case 'text':
      return { kind: 'text' };
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'thinking' };
    case 'tool_use':
      return { kind: 'tool_use', toolUseId: block.id };
    default:
      return { kind: 'other' };
  }
}

const origins: readonly Origin[] = [
  'prompt',
  'model',
  'tool',
  'nudge',
  'hook',
  'attachment',
  'summary',
  'repair',
];
