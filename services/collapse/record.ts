/** What is known of a collapse: which messages it stands for, and what the model reads instead. */
import type { LogMessage } from '../messages.ts';

export interface Collapse {
  /** The uuid of `message`: by it a host asks for the originals. */
  readonly id: string;
  /** What it stands for, oldest first, under the names with which it was said. Never empty. */
  readonly uuids: readonly string[];
  /** A note that stands in their place. */
  readonly message: LogMessage;
  /** Of the originals, when it was made. */
  readonly tokens: number;
}

export interface CollapseRecord extends Collapse {
  /** The model reads it in place of the originals; else it is only prepared. */
  readonly isCommitted: boolean;
}

/** All of a session by id, in the order in which they were prepared: the oldest messages first. */
export type Collapses = Map<string, CollapseRecord>;

/** A line of the transcript; `undefined` when it is none that can be used. */
export function collapseOf(line: Readonly<Record<string, unknown>>): Collapse | undefined {
  const { id, uuids, message, tokens } = line;
  const isUsable =
    typeof id === 'string' &&
    Array.isArray(uuids) &&
    uuids.length > 0 &&
    uuids.every((uuid) => typeof uuid === 'string') &&
    typeof tokens === 'number' &&
    isNote(message) &&
    message.uuid === id;
  return isUsable ? { id, uuids, message, tokens } : undefined;
}

const isNote = (value: unknown): value is LogMessage =>
  typeof value === 'object' &&
  value !== null &&
  'role' in value &&
  value.role === 'user' &&
  'content' in value &&
  Array.isArray(value.content) &&
  value.content.length > 0;
