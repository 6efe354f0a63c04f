/**
 * One prompt and what came of it, as far as the result wants to know. Fed by the words of the
 * chart; decides nothing.
 */
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
  readonly #shown = new Set<string>();
  structuredOutput: unknown;
  deferred: { id: string; name: string; input: unknown } | undefined;
  apiMs = 0;
  errors: string[] = [];

  constructor(usageBefore: UsageSnapshot) {
    this.usageBefore = usageBefore;
  }

  /** History has taken these. Text after the last tool result, joined over nudges, is the result. */
  agree(messages: readonly LogMessage[]): void {
    for (const message of messages) {
      if (message.role === 'assistant') {
        if (message.kind === 'text') this.#texts.push(textOf(message));
      } else if (message.origin !== 'nudge') {
        this.#texts = [];
      }
    }
  }

  get keptText(): string {
    return this.#texts.join('');
  }

  /** A message, or deltas under its uuid, reached the host. */
  show(uuid: string): void {
    this.#shown.add(uuid);
  }

  /** @returns whether the host has seen anything that must be taken back. */
  retract(uuid: string): boolean {
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
