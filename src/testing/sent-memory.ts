/**
 * What servers have said, for rule S8 (thinking goes back as it came) and for the one request
 * that may end with an assistant message (after `pause_turn`). Share one between servers that
 * play one conversation, as before and after a restart.
 */
import { isWellFormed, wellFormed } from '../../services/well-formed.ts';
import type { JsonObject } from './json.ts';

/** Where a block stood in what was sent. */
export interface SentPlace {
  readonly model: string;
  /** Number of the message over the life of the memory. */
  readonly message: number;
  /** Number of the block in its message. */
  readonly index: number;
}

/** Paused messages that may still come back; more would be a script gone wild. */
const PAUSED_MAX = 64;

const isThinking = (block: JsonObject): boolean =>
  block.type === 'thinking' || block.type === 'redacted_thinking';

/** Two thinking blocks with the same key are byte-equal where it counts. */
const thinkingKey = (block: JsonObject): string =>
  block.type === 'redacted_thinking'
    ? JSON.stringify(['redacted', block.data])
    : JSON.stringify(['thinking', block.thinking, block.signature]);

const ESSENTIAL = ['type', 'text', 'thinking', 'data', 'id', 'name', 'input'];
/**
 * The part of a block that must come back: no cache mark, nothing that the API can do without. Half
 * of a pair may not be sent back (rule S10): mended counts as unchanged.
 */
const essence = (block: JsonObject): string => {
  const parts = ESSENTIAL.map((field) => block[field]);
  return JSON.stringify(parts.map((part) => (typeof part === 'string' ? wellFormed(part) : part)));
};

/** Takes the complete blocks of one message as they go out. */
export interface SentMessage {
  add(block: JsonObject): void;
  /** The message ended with `pause_turn`. */
  pause(): void;
}

/** Remembers complete blocks. */
export class SentMemory {
  readonly #thinking = new Map<string, SentPlace>();
  readonly #toolUses = new Map<string, SentPlace & { readonly thinking: readonly string[] }>();
  readonly #ambiguous = new Set<string>();
  readonly #paused: (readonly string[])[] = [];
  #messages = 0;

  /**
   * Begins a message. Its blocks are noted one by one: a client may give a stream up and send
   * what it has of it before the server knows that it has gone.
   */
  begin(model: string): SentMessage {
    const message = this.#messages++;
    const sent: JsonObject[] = [];
    const thinking: string[] = [];
    return {
      add: (block) => {
        const place = { model, message, index: sent.push(block) - 1 };
        if (isThinking(block)) {
          // What cannot be sent back as it is (rule S10) is not asked for.
          if (isWellFormed(String(block.thinking ?? ''))) thinking.push(thinkingKey(block));
          this.#thinking.set(thinkingKey(block), place);
        }
        if (block.type === 'tool_use') {
          const id = String(block.id);
          // Which of two calls by one name comes back nobody can tell.
          if (this.#toolUses.delete(id)) this.#ambiguous.add(id);
          else if (!this.#ambiguous.has(id)) this.#toolUses.set(id, { ...place, thinking });
        }
      },
      pause: () => {
        // A client may not send white space back (rule S4), so it is not asked for.
        const sayable = sent.filter((b) => b.type !== 'text' || String(b.text).trim());
        this.#paused.push(sayable.map(essence));
        if (this.#paused.length > PAUSED_MAX) this.#paused.shift();
      },
    };
  }

  /** Where this thinking block, or this call, was sent. */
  placeOf(block: JsonObject): SentPlace | undefined {
    if (isThinking(block)) return this.#thinking.get(thinkingKey(block));
    return block.type === 'tool_use' ? this.#toolUses.get(String(block.id)) : undefined;
  }

  /** Thinking that this model sent with these calls and that is not among the blocks. */
  missingThinking(model: unknown, blocks: readonly JsonObject[]): number {
    const present = new Set(blocks.filter(isThinking).map(thinkingKey));
    const wanted = new Set<string>();
    for (const block of blocks) {
      const call = block.type === 'tool_use' ? this.#toolUses.get(String(block.id)) : undefined;
      if (call?.model !== model) continue;
      for (const key of call?.thinking ?? []) wanted.add(key);
    }
    return [...wanted].filter((key) => !present.has(key)).length;
  }

  /** Do the blocks end with a message that was paused, unchanged? */
  endsWithPaused(blocks: readonly JsonObject[]): boolean {
    const given = blocks.map(essence);
    return this.#paused.some(
      (paused) =>
        paused.length > 0 &&
        paused.every((block, at) => given[given.length - paused.length + at] === block),
    );
  }
}
