/** Messages as they were said, where summaries of some of them stand in the conversation. */
import type { LogMessage } from '../services/messages.ts';
import { bareUuid } from '../services/preprocess/revise.ts';
import type { Session } from './session.ts';

type Known = Pick<Session, 'log' | 'collapses'>;

/** What the note of this id stands for. `undefined`: nobody knows it, or its messages, any more. */
export function originalsOf(
  { log, collapses }: Known,
  id: string,
): readonly LogMessage[] | undefined {
  const { uuids = [] } = collapses.get(id) ?? {};
  if (uuids.length === 0 || !uuids.every((uuid) => log.has(uuid))) return undefined;
  return uuids.map((uuid) => log.get(uuid));
}

/** Names of what goes with a message, as they were said: of all that it stands for. */
export const namesBehind = (session: Known, { uuid }: LogMessage): readonly string[] =>
  session.collapses.get(bareUuid(uuid))?.uuids ?? [bareUuid(uuid)];

/** The conversation with no collapse in it. The very messages where there is none. */
export function unfolded(session: Known, messages: readonly LogMessage[]): readonly LogMessage[] {
  if (session.collapses.size === 0) return messages;
  return messages.flatMap((message) => originalsOf(session, bareUuid(message.uuid)) ?? [message]);
}

/** Under the names that hosts have heard: which version of a message is read is our own affair. */
export const asSaid = (messages: readonly LogMessage[]): readonly LogMessage[] =>
  messages.map((message) => {
    const uuid = bareUuid(message.uuid);
    return uuid === message.uuid ? message : { ...message, uuid };
  });
