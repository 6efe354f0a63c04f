/**
 * One prompt and what came of it, as far as the result wants to know. Fed by the words of the
 * chart; decides nothing.
 */
import type { Restored } from '../services/journal/restore.ts';
import type { LogMessage } from '../services/messages.ts';
import type { UsageSnapshot } from '../services/model/usage.ts';
import type { PermissionDenial } from '../services/permissions/types.ts';

export class Turn {
  /** What the session had used when the turn began. */
  readonly usageBefore: UsageSnapshot;
  readonly startedAt = performance.now();
  /** Every prompt that this turn answers: the first, and those folded in. */
  readonly promptUuids: string[] = [];
  readonly denials: PermissionDenial[] = [];
  /** Messages that were taken back and that no newer one has replaced yet. */
  #superseded: string[] = [];
  #texts: string[] = [];
  /** The answer that has made the newest call. */
  #callingApiId: string | undefined;
  readonly #shown = new Set<string>();
  readonly #unsaid = new Set<string>();
  structuredOutput: unknown;
  deferred: { id: string; name: string; input: unknown } | undefined;
  apiMs = 0;
  /** What the model has said for this turn's query, also what was taken back. */
  outputTokens = 0;
  errors: string[] = [];
  /** What a dead process has left, until this turn has taken it up: a result before leaves it open. */
  left: Restored | undefined;
  /** The session could not be written down: whatever came of the turn may be lost. */
  hasLostDisk = false;
  /** The last word is said, or stands in the file of a host that has left. */
  hasResult = false;

  constructor(usageBefore: UsageSnapshot) {
    this.usageBefore = usageBefore;
  }

  /**
   * History has taken these. The result is the text after the last tool result, joined over nudges.
   * Calls run while their answer still streams: what the model says beside a call was said before
   * its result, also when it arrives after it.
   */
  agree(messages: readonly LogMessage[]): void {
    for (const message of messages) {
      if (message.role === 'user') {
        if (message.origin !== 'nudge') this.#texts = [];
      } else if (message.kind === 'tool_use') {
        this.#callingApiId = message.apiId;
      } else if (message.kind === 'text' && message.apiId !== this.#callingApiId) {
        this.#texts.push(textOf(message));
      }
    }
  }

  get keptText(): string {
    return this.#texts.join('');
  }

  /**
   * Deltas under this uuid reach the host; the message itself has not.
   * @returns whether these are the first.
   */
  begin(uuid: string): boolean {
    const isFirst = !this.#shown.has(uuid);
    this.#shown.add(uuid);
    this.#unsaid.add(uuid);
    return isFirst;
  }

  /** The message reached the host. */
  show(uuid: string): void {
    this.#shown.add(uuid);
    this.#unsaid.delete(uuid);
  }

  /** The host has seen deltas of this message and nothing else. */
  isUnsaid(uuid: string): boolean {
    return this.#unsaid.has(uuid);
  }

  /** @returns whether the host has seen anything that must be taken back. */
  retract(uuid: string): boolean {
    this.#unsaid.delete(uuid);
    if (!this.#shown.delete(uuid)) return false;
    this.#superseded.push(uuid);
    return true;
  }

  /** What the next assistant message replaces. */
  takeSuperseded(): readonly string[] {
    const superseded = this.#superseded;
    this.#superseded = [];
    return superseded;
  }
}

const textOf = (message: LogMessage): string =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
