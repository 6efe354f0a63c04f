/**
 * The API's prompt cache, as far as it can be seen from outside: what a request reads, what it
 * writes, what that costs, and what the best possible client would have paid.
 *
 * A request is a row of blocks: tools, system, messages. A *prefix* is the row up to some block.
 * Writes happen only at breakpoints (`cache_control`); a read looks for a prefix that an earlier
 * request wrote, at a breakpoint and at the 19 blocks before it. A wide round (many parallel
 * calls) is longer than that: without a second breakpoint the whole conversation is paid again.
 */
import { createHash } from 'node:crypto';
import { isRecord } from '../../services/is-record.ts';
import { type JsonObject, recordsIn } from './json.ts';
import { blocksOf, type RequestBody } from './received-request.ts';
import { tokensOfBlock, tokensOfTool } from './tokens.ts';

/** Places that are tried for each breakpoint, the breakpoint itself being the first. */
const LOOK_BACK_BLOCKS = 20;
const FIVE_MINUTES_MS = 5 * 60_000;
const ONE_HOUR_MS = 60 * 60_000;
/** The smallest prefix that most models cache. */
const CACHEABLE_TOKENS_MIN = 1_024;

/** Price of a token by what happens to it, in prices of an uncached input token. */
export const CACHE_PRICES = { input: 1, read: 0.1, write5m: 1.25, write1h: 2 } as const;

/** Input side of a usage, as the API reports it. */
export interface CacheUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
}

/** How well a client used the cache. Costs are in prices of an uncached input token. */
export interface CacheReport {
  readonly requests: number;
  readonly inputTokens: number;
  readonly readTokens: number;
  readonly writtenTokens: number;
  readonly cost: number;
  /**
   * What the best client would have paid for the same requests, knowing what comes: it reads all
   * that an earlier request had in common, writes exactly what a later one reads, and has as many
   * breakpoints as it likes.
   */
  readonly ideal: number;
  /** `ideal / cost`; 1 is perfect. */
  readonly efficiency: number;
}

export interface PromptCacheOptions {
  /** Default: 1,024. */
  readonly cacheableTokensMin?: number;
}

interface Block {
  /** Of the prefix that ends here. */
  readonly hash: string;
  /** Of the prefix that ends here. */
  readonly tokens: number;
  /** Set on a breakpoint: how long its entry lives. */
  readonly ttlMs: number | undefined;
}

interface Seen {
  lastMs: number;
  /** The request that would have written it. */
  readonly writer: Ledger;
}

/** What the best client pays for one request; known when all requests are. */
interface Ledger {
  readonly tokens: number;
  readonly sharedTokens: number;
  /** Tokens up to which a later request reads. */
  readLaterTokens: number;
}

const ttlOf = (block: JsonObject): number | undefined => {
  const mark = block.cache_control;
  if (!isRecord(mark)) return undefined;
  return mark.ttl === '1h' ? ONE_HOUR_MS : FIVE_MINUTES_MS;
};

/** Lays a request out as its row of blocks. */
function rowOf(body: RequestBody): Block[] {
  const row: Block[] = [];
  let chain = createHash('sha256').update(String(body.model)).digest('base64');
  let tokens = 0;
  const add = (block: JsonObject, kind: string, blockTokens: number) => {
    const { cache_control: _mark, ...content } = block;
    const hash = createHash('sha256').update(chain).update(kind).update(JSON.stringify(content));
    chain = hash.digest('base64');
    tokens += blockTokens;
    row.push({ hash: chain, tokens, ttlMs: ttlOf(block) });
  };
  for (const tool of recordsIn(body.tools)) add(tool, 'tool', tokensOfTool(tool));
  for (const block of blocksOf(body.system)) add(block, 'system', tokensOfBlock(block));
  // These two change how messages are read, so they are part of each prefix that has messages.
  chain += JSON.stringify([body.thinking ?? null, body.tool_choice ?? null]);
  for (const message of recordsIn(body.messages)) {
    for (const block of blocksOf(message.content)) {
      add(block, String(message.role), tokensOfBlock(block));
    }
  }
  const last = row.at(-1);
  // A mark on the request itself is one on its last block.
  const automatic = ttlOf({ cache_control: body.cache_control });
  if (last && automatic !== undefined) row[row.length - 1] = { ...last, ttlMs: automatic };
  return row;
}

/** Accounts requests in their order. Time is passed in, so tests can let entries grow old. */
export class PromptCache {
  readonly #cacheableTokensMin: number;
  /** Entries by prefix: when they die. */
  readonly #entries = new Map<string, { ttlMs: number; diesMs: number }>();
  readonly #seen = new Map<string, Seen>();
  readonly #ledgers: Ledger[] = [];
  readonly #sums = { input: 0, read: 0, write5m: 0, write1h: 0 };

  constructor({ cacheableTokensMin = CACHEABLE_TOKENS_MIN }: PromptCacheOptions = {}) {
    this.#cacheableTokensMin = cacheableTokensMin;
  }

  /** Accounts one answered request; the usage that the API would report for it. */
  account(body: RequestBody, nowMs: number): CacheUsage {
    const row = rowOf(body);
    this.#noteIdeal(row, nowMs);
    const total = row.at(-1)?.tokens ?? 0;
    const read = this.#read(row, nowMs);
    const written = this.#write(row, read, nowMs);
    const usage: CacheUsage = {
      input_tokens: total - read - written.write5m - written.write1h,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written.write5m + written.write1h,
      cache_creation: {
        ephemeral_5m_input_tokens: written.write5m,
        ephemeral_1h_input_tokens: written.write1h,
      },
    };
    this.#sums.input += usage.input_tokens;
    this.#sums.read += read;
    this.#sums.write5m += written.write5m;
    this.#sums.write1h += written.write1h;
    return usage;
  }

  /** Sums and costs so far. */
  report(): CacheReport {
    const { input, read, write5m, write1h } = this.#sums;
    const cost =
      input * CACHE_PRICES.input +
      read * CACHE_PRICES.read +
      write5m * CACHE_PRICES.write5m +
      write1h * CACHE_PRICES.write1h;
    const ideal = this.#ledgers.reduce((sum, ledger) => sum + idealCost(ledger), 0);
    return {
      requests: this.#ledgers.length,
      inputTokens: input,
      readTokens: read,
      writtenTokens: write5m + write1h,
      cost,
      ideal,
      efficiency: cost === 0 ? 1 : ideal / cost,
    };
  }

  /** Tokens of the longest live entry within reach of a breakpoint. A read renews it. */
  #read(row: readonly Block[], nowMs: number): number {
    for (let breakpoint = row.length - 1; breakpoint >= 0; breakpoint--) {
      if (row[breakpoint]?.ttlMs === undefined) continue;
      const end = Math.max(0, breakpoint - LOOK_BACK_BLOCKS + 1);
      for (let at = breakpoint; at >= end; at--) {
        const block = row[at];
        const entry = block && this.#entries.get(block.hash);
        if (!block || !entry || entry.diesMs < nowMs) continue;
        entry.diesMs = nowMs + entry.ttlMs;
        return block.tokens;
      }
    }
    return 0;
  }

  /** Writes an entry at each breakpoint; tokens by price, those behind what was read. */
  #write(row: readonly Block[], readTokens: number, nowMs: number) {
    const written = { write5m: 0, write1h: 0 };
    let from = readTokens;
    for (const { hash, tokens, ttlMs } of row) {
      if (ttlMs === undefined || tokens < this.#cacheableTokensMin) continue;
      const known = this.#entries.get(hash);
      const isLive = known !== undefined && known.diesMs >= nowMs;
      const lifeMs = isLive ? Math.max(ttlMs, known.ttlMs) : ttlMs;
      this.#entries.set(hash, { ttlMs: lifeMs, diesMs: nowMs + lifeMs });
      if (tokens <= from) continue;
      written[ttlMs === ONE_HOUR_MS ? 'write1h' : 'write5m'] += tokens - from;
      from = tokens;
    }
    return written;
  }

  /** Notes what this request shares with earlier ones, and for them that it was worth writing. */
  #noteIdeal(row: readonly Block[], nowMs: number): void {
    let sharedTokens = 0;
    for (const { hash, tokens } of row) {
      const seen = this.#seen.get(hash);
      if (!seen || seen.lastMs + FIVE_MINUTES_MS < nowMs) break;
      if (tokens >= this.#cacheableTokensMin) {
        sharedTokens = tokens;
        seen.writer.readLaterTokens = Math.max(seen.writer.readLaterTokens, tokens);
      }
    }
    const writer: Ledger = {
      tokens: row.at(-1)?.tokens ?? 0,
      sharedTokens,
      readLaterTokens: 0,
    };
    this.#ledgers.push(writer);
    for (const { hash, tokens } of row) {
      const seen = this.#seen.get(hash);
      if (seen && tokens <= sharedTokens) seen.lastMs = nowMs;
      else this.#seen.set(hash, { lastMs: nowMs, writer });
    }
  }
}

function idealCost({ tokens, sharedTokens, readLaterTokens }: Ledger): number {
  const written = Math.max(0, readLaterTokens - sharedTokens);
  const plain = tokens - sharedTokens - written;
  return (
    sharedTokens * CACHE_PRICES.read + written * CACHE_PRICES.write5m + plain * CACHE_PRICES.input
  );
}
