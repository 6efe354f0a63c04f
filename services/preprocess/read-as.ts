/**
 * How a conversation is read that stages have changed: which messages say something else by now,
 * whose thinking is not sent any more, what a repair has put between them. A resumed session reads
 * it so from its first request on: what it then decides, it decides about the same text.
 *
 * Pure. Messages are named as they were said, so that a part that is not there any more (a rewind)
 * takes nothing else with it. What snips and collapses take out has lines of its own.
 */
import type { ContentBlock, LogMessage } from '../messages.ts';
import { bareUuid, isInvented, revise } from './revise.ts';

/** A message as it is read. */
export interface Version {
  /** The name with which it was said. */
  readonly uuid: string;
  /** Absent: what was said. */
  readonly content?: readonly ContentBlock[];
  /** What stood before it has changed: its thinking is of no model any more. */
  readonly isUnbound?: true;
}

/** A message that nobody has said. */
export interface Addition {
  /** It stands behind the message of this name; `null`: at the begin. */
  readonly after: string | null;
  readonly message: LogMessage;
}

export interface Reading {
  readonly versions: readonly Version[];
  readonly additions: readonly Addition[];
}

const isVersion = ({ uuid }: LogMessage) => uuid !== bareUuid(uuid);

/**
 * What is different in a history from what was said.
 * @param isKnown messages that need not be told of.
 * @param saidAs the message of this name as it was said; `undefined`: nobody knows any more.
 */
export function readingOf(
  messages: readonly LogMessage[],
  isKnown: (message: LogMessage, at: number) => boolean,
  saidAs: (uuid: string) => LogMessage | undefined,
): Reading {
  const versions: Version[] = [];
  const additions: Addition[] = [];
  for (const [at, message] of messages.entries()) {
    if (isKnown(message, at)) continue;
    if (isInvented(message.uuid)) {
      additions.push({ after: messages[at - 1]?.uuid ?? null, message });
    } else if (isVersion(message)) {
      const said = saidAs(bareUuid(message.uuid));
      const isSame = JSON.stringify(said?.content) === JSON.stringify(message.content);
      versions.push({
        uuid: bareUuid(message.uuid),
        ...(isSame ? {} : { content: message.content }),
        ...(message.role === 'assistant' && !message.model ? { isUnbound: true as const } : {}),
      });
    }
  }
  return { versions, additions };
}

/** The same history again. What it names and is not there changes nothing. */
export function readAgain(
  messages: readonly LogMessage[],
  { versions, additions }: Reading,
): readonly LogMessage[] {
  const byName = new Map(versions.map((version) => [version.uuid, version]));
  const read = messages.map((message) => {
    const version = byName.get(bareUuid(message.uuid));
    return version ? versionOf(message, version) : message;
  });
  const placed = new Set(read.map(({ uuid }) => uuid));
  for (const { after, message } of additions) {
    const at = after === null ? 0 : read.findIndex(({ uuid }) => isNamed(uuid, after)) + 1;
    if ((after !== null && at === 0) || placed.has(message.uuid)) continue;
    read.splice(at, 0, message);
  }
  return read;
}

/** The message before an addition may have become another version since. */
const isNamed = (uuid: string, name: string) =>
  uuid === name || (!isInvented(uuid) && bareUuid(uuid) === bareUuid(name));

function versionOf(message: LogMessage, { content, isUnbound }: Version): LogMessage {
  const { model, ...rest } = revise(message, content ?? message.content);
  return isUnbound || model === undefined ? rest : { ...rest, model };
}
