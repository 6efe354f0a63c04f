/** New versions of messages that the log already holds: its entries never change. */
import { createHash } from 'node:crypto';
import type { ContentBlock, LogMessage } from '../messages.ts';

/** Enough of a hash to tell versions of one message apart; all of it would only be noise. */
const VERSION_CHARS = 12;

/** Without the part that names a version, not the message: `<uuid>~<version>`. */
export const bareUuid = (uuid: string): string => uuid.replace(/~[0-9a-f]+$/, '');

/** Nobody has said it: its name is that of the message that made it necessary, and more. */
export const isInvented = (uuid: string): boolean => uuid.includes('+');

const versionOf = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, VERSION_CHARS);

/**
 * The same message with other content. Its uuid follows from the old one and from what it says, so
 * that the same change made again (a replay, a resume) makes the same message.
 */
export const revise = (
  message: LogMessage,
  content: readonly ContentBlock[],
  patch: Partial<Pick<LogMessage, 'toolUseId'>> = {},
): LogMessage => ({
  ...message,
  ...patch,
  content,
  uuid: `${bareUuid(message.uuid)}~${versionOf(content)}`,
});

/** A message that we have to invent; named after the message that made it necessary. */
export const invent = (
  anchor: Pick<LogMessage, 'uuid' | 'timestamp'> & Pick<Partial<LogMessage>, 'parentToolUseId'>,
  message: Omit<LogMessage, 'uuid' | 'timestamp'>,
): LogMessage => ({
  ...message,
  ...(anchor.parentToolUseId === undefined ? {} : { parentToolUseId: anchor.parentToolUseId }),
  timestamp: anchor.timestamp,
  uuid: `${anchor.uuid}+${versionOf(message.content)}`,
});
