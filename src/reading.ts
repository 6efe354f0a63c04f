/**
 * How the model reads a session's conversation: what stages have made of it is written down as
 * requests are made, and a process that goes on with the session begins with it. So it decides as
 * the one before would have, about the same text.
 */
import type { Cursor } from '../machines/state.ts';
import { project } from '../services/collapse/project.ts';
import { CONTEXT_COLLAPSE } from '../services/features.ts';
import { READING_LINE, type ReadingFields, type Sent } from '../services/journal/reading-lines.ts';
import type { Restored } from '../services/journal/restore.ts';
import { emptyHistory } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import { readAgain, readingOf } from '../services/preprocess/read-as.ts';
import { unbindThinking } from '../services/preprocess/unbind-thinking.ts';
import { defaultGates } from './config.ts';
import type { Session } from './session.ts';

/** What the file knows already. */
interface Noted {
  head: string;
  readonly names: Set<string>;
  /** As JSON. */
  learnt?: string;
  sent?: string;
}
const noted = new WeakMap<Session, Noted>();

/** With what a session's first query begins. */
export function beginHistory(session: Session): Cursor {
  const { log, config } = session;
  const { resumed, initialMessages = [] } = config;
  const messages = resumed ? readBefore(session, resumed.restored) : initialMessages;
  const history = messages.length > 0 ? log.append(emptyHistory, messages) : emptyHistory;
  const isKnown = resumed?.restored.reading.isSettled ?? true;
  noted.set(session, {
    head: isKnown ? history.head : emptyHistory.head,
    names: new Set(isKnown ? messages.map(({ uuid }) => uuid) : []),
  });
  if (resumed) goOn(session, history, resumed.restored);
  return history;
}

/** What was said is in the log under its own name, whatever is read instead. */
function readBefore(session: Session, restored: Restored): readonly LogMessage[] {
  const { log, collapses, config } = session;
  const { messages, reading } = restored;
  for (const message of messages) log.put(message);
  const isCollapsing = { ...defaultGates, ...config.gates }.contextCollapse;
  const committed = [...collapses.values()].filter(({ isCommitted }) => isCommitted);
  const { messages: folded, places } =
    CONTEXT_COLLAPSE && isCollapsing
      ? project(messages, committed)
      : { messages, places: [] as const };
  const read = readAgain(folded, reading);
  if (reading.isSettled) return read;
  // The process has ended before a request was made of what it had changed: as the change was made.
  return unbindThinking(read, restored.isSnipped ? 0 : (places[0]?.from ?? -1));
}

/** What was learnt of sizes, and where the cache ends; as far as it is about this very history. */
function goOn(session: Session, { head }: Cursor, { reading }: Restored): void {
  const { log, tokens } = session;
  const headOf = ({ uuid, count }: { readonly uuid: string; readonly count: number }) =>
    count > 0 && log.at(head)[count - 1]?.uuid === uuid ? log.headAt(head, count) : undefined;
  if (reading.learnt) tokens.goOn(reading.learnt, headOf);
  const last = reading.sent && headOf(reading.sent);
  if (!reading.sent || last === undefined) return;
  const { count, anchorCount } = reading.sent;
  const chain = head.slice(0, head.indexOf('/'));
  session.lastRequest = { chain, count, head: last, anchorCount };
}

/**
 * A request is made, or was answered: what is new since the last line is written down, if there is
 * something. Costs what is new; all of it when the past was changed.
 */
export function noteReading(session: Session, head: string): void {
  const { log, transcript } = session;
  const before: Noted = noted.get(session) ?? { head: emptyHistory.head, names: new Set() };
  noted.set(session, before);
  const messages = log.at(head);
  const from = messages.length - log.since(before.head, head).length;
  before.head = head;
  const { versions, additions } = readingOf(
    messages.slice(Math.max(0, from - 1)), // one that is known: what is added may stand behind it
    ({ uuid }, at) => (from > 0 && at === 0) || before.names.has(uuid),
    (uuid) => (log.has(uuid) ? log.get(uuid) : undefined),
  );
  for (const { uuid } of messages.slice(from)) before.names.add(uuid);
  const line: ReadingFields = {
    ...(versions.length > 0 ? { versions } : {}),
    ...(additions.length > 0 ? { additions } : {}),
    ...factsSince(before, session, from === 0),
  };
  if (Object.keys(line).length > 0) transcript.note(READING_LINE, { ...line }, 'beside');
}

/** @param isAnew the past was changed: the line says that a request was made of it, and all of this. */
function factsSince(
  before: Noted,
  session: Session,
  isAnew: boolean,
): Pick<ReadingFields, 'learnt' | 'sent'> {
  const [learnt, sent] = [session.tokens.learnt(), sentOf(session)];
  const [learntText, sentText] = [JSON.stringify(learnt), JSON.stringify(sent)];
  const isLearnt = isAnew || learntText !== before.learnt;
  const isSent = sent !== undefined && (isAnew || sentText !== before.sent);
  before.learnt = learntText;
  if (isSent) before.sent = sentText;
  return { ...(isLearnt ? { learnt } : {}), ...(isSent ? { sent } : {}) };
}

function sentOf({ lastRequest, log }: Session): Sent | undefined {
  if (!lastRequest) return undefined;
  const { head, count, anchorCount } = lastRequest;
  const uuid = log.at(head)[count - 1]?.uuid;
  if (uuid === undefined) return undefined;
  return { uuid, count, ...(anchorCount === undefined ? {} : { anchorCount }) };
}
