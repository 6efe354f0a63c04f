/**
 * The append-only log of a session. A cursor `{ head, count, tokens }` names a history in it, and
 * what lies before a head never changes: so the chart's state stays a small value, and an
 * iteration costs what is new.
 *
 * Bound: whoever cuts the past calls `forget`, so that it holds what stands, what stood when the past
 * was cut the last time, and all that was said since the cut before that one.
 */
import { type Cursor, headAfter, type MessageRef } from '../machines/state.ts';
import type { LogMessage } from './messages.ts';

interface Link {
  readonly uuid: string;
  readonly before: string;
  readonly depth: number;
}

/** An empty history. */
export const emptyHistory: Cursor = { head: '0/', count: 0, tokens: 0 };

export class MessageLog {
  readonly #parentToolUseId: string | undefined;
  readonly #messages = new Map<string, LogMessage>();
  readonly #links = new Map<string, Link>();
  #chains = 1;
  /** Put and linked since something was forgotten. */
  #freshMessages = new Set<string>();
  #freshLinks = new Set<string>();
  /** Prompts that are forgotten: whoever sends one again is told that it was asked. */
  readonly #forgottenPrompts = new Set<string>();
  #pinned = emptyHistory.head;
  /** The last history that was walked: the next one is usually the same and a little more. */
  #walked: { head: string; messages: readonly LogMessage[] } = { head: '0/', messages: [] };

  /**
   * @param parentToolUseId of an agent: the call that it works for. All that is put into its log
   * belongs to that call, whoever says it.
   */
  constructor(parentToolUseId?: string) {
    this.#parentToolUseId = parentToolUseId;
  }

  /** Keeps what a message says. It is in no history yet. The same uuid again changes nothing. */
  put(message: LogMessage): LogMessage {
    const known = this.#messages.get(message.uuid);
    if (known) return known;
    const kept =
      this.#parentToolUseId === undefined || message.parentToolUseId !== undefined
        ? message
        : { ...message, parentToolUseId: this.#parentToolUseId };
    this.#messages.set(message.uuid, kept);
    this.#freshMessages.add(message.uuid);
    return kept;
  }

  /**
   * Says something else under the same uuid: a call whose input a hook or a person has edited.
   * *Contract:* only before a request has carried the message; after that, it is the past.
   */
  amend(message: LogMessage): void {
    this.#messages.set(message.uuid, message);
    this.#walked = { head: '0/', messages: [] };
  }

  /** What a message says. A uuid that was never put is a bug. */
  get(uuid: string): LogMessage {
    const message = this.#messages.get(uuid);
    if (!message) throw new Error(`message ${uuid} is not in the log`);
    return message;
  }

  has(uuid: string): boolean {
    return this.#messages.has(uuid);
  }

  /** A prompt of this name was put at some time; it may be forgotten by now. */
  wasAsked(uuid: string): boolean {
    return this.has(uuid) || this.#forgottenPrompts.has(uuid);
  }

  /** Messages that it holds: for meters. */
  get size(): number {
    return this.#messages.size;
  }

  /**
   * History goes on from a head: the messages (all of them put before) stand after it, in order.
   * @returns the new head, the same that the chart works out with `headAfter`.
   */
  extend(head: string, refs: readonly Pick<MessageRef, 'uuid'>[]): string {
    let before = head;
    let depth = this.#links.get(head)?.depth ?? 0;
    for (const { uuid } of refs) {
      const at = headAfter(before, uuid);
      depth += 1;
      this.get(uuid); // a bug is found here, not where the history is read
      this.#links.set(at, { uuid, before, depth });
      this.#freshLinks.add(at);
      before = at;
    }
    return before;
  }

  /** Puts and extends in one: for services that add to a history outside of the chart. */
  append(cursor: Cursor, messages: readonly LogMessage[]): Cursor {
    for (const message of messages) this.put(message);
    const head = this.extend(cursor.head, messages);
    return { ...cursor, head, count: cursor.count + messages.length };
  }

  /**
   * A history of its own, for what rewrites the past (a compaction, a repair): the old one stays.
   * A message whose content differs from the one in the log needs a uuid of its own.
   */
  rewrite(messages: readonly LogMessage[], tokens: number): Cursor {
    const chain = `${this.#chains++}/`;
    for (const message of messages) this.put(message);
    return { head: this.extend(chain, messages), count: messages.length, tokens };
  }

  /**
   * The same for a history that begins as the one at `from` does: what both begin with is shared,
   * and only what comes after it is linked anew. For what changes the end of a long history.
   */
  rewriteFrom(from: string, messages: readonly LogMessage[], tokens: number): Cursor {
    const before = this.at(from);
    let shared = 0;
    while (shared < messages.length && messages[shared]?.uuid === before[shared]?.uuid) shared += 1;
    // A chain of its own begins with a link of its own, or two histories would go on under one name.
    if (shared === messages.length) shared -= 1;
    if (shared < 1) return this.rewrite(messages, tokens);
    const base = this.headAt(from, shared);
    const [first, ...rest] = messages.slice(shared).map((message) => this.put(message));
    if (!first) return this.rewrite(messages, tokens);
    const start = `${this.#chains++}/${first.uuid}`;
    this.#links.set(start, { uuid: first.uuid, before: base, depth: shared + 1 });
    this.#freshLinks.add(start);
    return { head: this.extend(start, rest), count: messages.length, tokens };
  }

  /** Number of messages up to a head; 0 when nothing stands there. */
  depthOf(head: string): number {
    return this.#links.get(head)?.depth ?? 0;
  }

  /** The history that a longer one begins with: as it was with so many messages, at least one. */
  headAt(head: string, count: number): string {
    let at = head;
    for (let depth = this.depthOf(head); depth > count; depth -= 1) {
      at = this.#links.get(at)?.before ?? at;
    }
    return at;
  }

  /** This history stays, whatever is forgotten: a turn that comes to nothing leaves it standing. */
  pin(head: string): void {
    this.#pinned = head;
  }

  /**
   * The past was cut: lets go of what nobody comes back to. What was put since this was called the
   * last time stays, with what it was said after.
   * *Contract:* the file of the session has what is forgotten; a cursor that is older than two cuts
   * is pinned, or empty from here on.
   * @param heads histories that stay.
   * @param namesBehind messages that one stands for: they stay with it.
   */
  forget(heads: readonly string[], namesBehind: (message: LogMessage) => readonly string[]): void {
    const links = new Set<string>();
    const names = new Set(this.#freshMessages);
    for (const head of [...heads, this.#pinned, ...this.#freshLinks]) {
      let at = head;
      for (let link = this.#links.get(at); link && !links.has(at); link = this.#links.get(at)) {
        links.add(at);
        names.add(link.uuid);
        for (const name of namesBehind(this.get(link.uuid))) names.add(name);
        at = link.before;
      }
    }
    for (const at of this.#links.keys()) if (!links.has(at)) this.#links.delete(at);
    for (const [uuid, { origin }] of this.#messages) {
      if (names.has(uuid)) continue;
      this.#messages.delete(uuid);
      if (origin === 'prompt') this.#forgottenPrompts.add(uuid);
    }
    this.#freshMessages = new Set();
    this.#freshLinks = new Set();
    this.#walked = { head: emptyHistory.head, messages: [] };
  }

  /**
   * The messages up to a head, oldest first. The seed's `messages`. Walks what is new; the list is a
   * new one then, for what was handed out before stays as it is (a copy of references: some 10 µs
   * for 10,000 messages).
   */
  at(head: string): readonly LogMessage[] {
    if (head === this.#walked.head) return this.#walked.messages;
    const fresh: LogMessage[] = [];
    let at = head;
    for (let link = this.#links.get(at); link; link = this.#links.get(at)) {
      if (at === this.#walked.head) break;
      fresh.push(this.get(link.uuid));
      at = link.before;
    }
    fresh.reverse();
    const messages = at === this.#walked.head ? [...this.#walked.messages, ...fresh] : fresh;
    this.#walked = { head, messages };
    return messages;
  }

  /** Only what stands after `from` on the way to `head`; everything when `from` is not on it. */
  since(from: string, head: string): readonly LogMessage[] {
    const fresh: LogMessage[] = [];
    let at = head;
    for (let link = this.#links.get(at); link && at !== from; link = this.#links.get(at)) {
      fresh.push(this.get(link.uuid));
      at = link.before;
    }
    return fresh.reverse();
  }
}
