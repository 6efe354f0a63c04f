/**
 * The lines that say how a conversation is read by now, and what was learnt of its size: with them
 * a resumed session decides as the one before would have. A file without them (an older one) is
 * read as it was said.
 */
import { isRecord } from '../is-record.ts';
import type { Usage } from '../model/types.ts';
import type { Addition, Reading, Version } from '../preprocess/read-as.ts';
import type { Learnt } from '../preprocess/token-count.ts';
import { soundBlocks, soundMessage } from './sound-blocks.ts';
import type { JournalRecord } from './store.ts';

export const READING_LINE = 'read-as';

/** The last request: the next one keeps a cache breakpoint where it ended. Counts of messages. */
export interface Sent {
  readonly uuid: string;
  readonly count: number;
  readonly anchorCount?: number;
}

/** A line of them; each says what is new. */
export interface ReadingFields extends Partial<Reading> {
  readonly learnt?: Learnt | undefined;
  readonly sent?: Sent | undefined;
}

export interface RestoredReading extends Reading {
  readonly learnt: Learnt | undefined;
  readonly sent: Sent | undefined;
  /** A request was made since the past was last changed: what that meant for thinking is known. */
  readonly isSettled: boolean;
}

/** Takes lines up, newest first. */
export class ReadingLines {
  readonly #versions = new Map<string, Version>();
  readonly #additions: Addition[] = [];
  #learnt: Learnt | undefined;
  #sent: Sent | undefined;
  #isSettled: boolean | undefined;

  take({ versions, additions, learnt, sent }: JournalRecord): void {
    this.#isSettled ??= true;
    for (const one of Array.isArray(versions) ? versions : []) {
      const version = versionOf(one);
      if (version && !this.#versions.has(version.uuid)) this.#versions.set(version.uuid, version);
    }
    const added = Array.isArray(additions) ? additions.flatMap((one) => additionOf(one) ?? []) : [];
    this.#additions.unshift(...added);
    this.#learnt ??= learntOf(learnt);
    this.#sent ??= sentOf(sent);
  }

  /** Something was taken out of the past. */
  noteRewrite(): void {
    this.#isSettled ??= false;
  }

  get result(): RestoredReading {
    return {
      versions: [...this.#versions.values()],
      additions: this.#additions,
      learnt: this.#learnt,
      sent: this.#sent,
      isSettled: this.#isSettled ?? false,
    };
  }
}

function versionOf(value: unknown): Version | undefined {
  if (!isRecord(value) || typeof value.uuid !== 'string') return undefined;
  const { uuid, content, isUnbound } = value;
  const sound = content === undefined ? undefined : soundBlocks(content);
  if (content !== undefined && (!sound || sound.blocks.length === 0)) return undefined;
  return {
    uuid,
    ...(sound ? { content: sound.blocks } : {}),
    ...(isUnbound === true ? { isUnbound } : {}),
  };
}

function additionOf(value: unknown): Addition | undefined {
  if (!isRecord(value)) return undefined;
  const { after } = value;
  const { message } = soundMessage(value.message);
  return message && (typeof after === 'string' || after === null) ? { after, message } : undefined;
}

function learntOf(value: unknown): Learnt | undefined {
  if (!isRecord(value) || !isSize(value.factor) || value.factor === 0) return undefined;
  const { factor, usage, anchor } = value;
  return {
    factor,
    usage: isUsage(usage) ? usage : null,
    ...(isAnchor(anchor) ? { anchor } : {}),
  };
}

const usageFields = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] satisfies readonly (keyof Usage)[];
const isUsage = (value: unknown): value is Usage =>
  isRecord(value) && usageFields.every((field) => isSize(value[field]));

const isAnchor = (value: unknown): value is NonNullable<Learnt['anchor']> =>
  isRecord(value) &&
  typeof value.uuid === 'string' &&
  isSize(value.count) &&
  isSize(value.tokens) &&
  isSize(value.clearedTokens) &&
  isSize(value.answerTokens) &&
  typeof value.isCached === 'boolean';

function sentOf(value: unknown): Sent | undefined {
  if (!isRecord(value) || typeof value.uuid !== 'string' || !isSize(value.count)) return undefined;
  const { uuid, count, anchorCount } = value;
  return { uuid, count, ...(isSize(anchorCount) ? { anchorCount } : {}) };
}

const isSize = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
