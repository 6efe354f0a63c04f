/**
 * How big a prompt is: the last usage that the API reported, and an estimate of what came since. The
 * API's numbers come after the fact and from one answer only; the estimate alone would be off by half.
 */

import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import type { Usage } from '../model/types.ts';
import type { Tool } from '../tools/tool.ts';
import {
  addSizes,
  type Category,
  categories,
  categoryOf,
  messageSize,
  noSize,
  type TextSize,
  textSize,
} from './token-size.ts';

/** What every request carries beside its messages. */
export interface FixedParts {
  readonly system: readonly string[];
  readonly tools: readonly Tool[];
  readonly userContext?: string;
}
export interface TokenCounterDeps {
  readonly log: MessageLog;
  /** Read at each count: tools come and go. */
  readonly fixed: () => FixedParts;
}

/** All numbers are tokens, finite and at least 0. */
export interface TokenCounter {
  /**
   * The API has answered a request.
   * @param head the history that was sent.
   * @param usage as reported; fields may be missing or null (proxies), then it is not trusted.
   * @param clearedTokens what the API has left out of the prompt: it was sent, and is not in the
   * usage.
   */
  noteUsage(
    head: string,
    usage: { readonly [F in keyof Usage]?: number | null } | null | undefined,
    clearedTokens?: number,
  ): void;
  /** The API has counted a prompt that was not sent. */
  noteCount(head: string, tokens: number): void;
  /** A stage has made `to` of `from`: what is known of the one is carried over to the other. */
  noteRewrite(from: string, to: string): void;
  /** The whole prompt with this history. */
  estimate(head: string): number;
  /** These messages alone. */
  estimateMessages(messages: readonly LogMessage[]): number;
  /** A text alone. */
  estimateText(text: string): number;
  /** What every request carries beside its messages. */
  fixedParts(): {
    readonly system: number;
    readonly userContext: number;
    readonly tools: readonly { readonly name: string; readonly tokens: number }[];
  };
  /** As the API reported it with the last answer; `null` before the first, or where it says none. */
  lastUsage(): Usage | null;
  /** What the API has told so far: a process that goes on with the session counts as this one. */
  learnt(): Learnt;
  /**
   * Counts as the one that has learnt this.
   * @param headOf the same history as it was told of, up to a message; `undefined`: it is not there.
   */
  goOn(learnt: Learnt, headOf: (place: Place) => string | undefined): void;
  /** So much of a prompt was in the last request already, and is in the cache now. */
  covered(head: string): number;
  /** Where the tokens of a prompt go; the sum is about `estimate`. */
  breakdown(head: string): Readonly<Record<Category, number>>;
}

/** A history, named by what it ends with: plain JSON. */
export interface Place {
  readonly uuid: string;
  readonly count: number;
}
/** Plain JSON. */
export interface Learnt {
  /** Real tokens over estimated ones. */
  readonly factor: number;
  readonly usage: Usage | null;
  /** The last prompt whose size is known, and how big it was. */
  readonly anchor?: Place & Omit<Anchor, 'head'>;
}

/** Bytes of a token before the session has shown its own ratio. */
const PROSE_RATIO = 3.0;
const DENSE_RATIO = 2.0;
/** No text has fewer or more bytes a token; a wild usage must not make the estimate useless. */
const RATIO_MIN = 1;
const RATIO_MAX = 6;
/** A usage below this part of the estimate is a proxy's, a mock's, or was cut: not trusted. */
const TRUSTED_SHARE = 0.5;
/** Less text says nothing about the ratio. */
const CALIBRATION_TOKENS_MIN = 500;
/** A first usage tells something about messages only when the rest hardly counts. */
const HISTORY_OVER_FIXED = 4;

/** The last prompt whose size the API has told. */
interface Anchor {
  readonly head: string;
  readonly tokens: number;
  /** What the API has left out of it: not in `tokens`, and left out of the next one as well. */
  readonly clearedTokens: number;
  /** What the answer to it had; 0 when it was only counted. */
  readonly answerTokens: number;
  /** Of a request that was really sent, unchanged since: its prefix is in the cache. */
  readonly isCached: boolean;
}

const count = (value: number | null | undefined) =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
const ratio = (bytesPerToken: number) => Math.min(RATIO_MAX, Math.max(RATIO_MIN, bytesPerToken));

const toolSizes = new WeakMap<Tool, TextSize>();
const toolSize = (tool: Tool) => {
  const known = toolSizes.get(tool);
  if (known) return known;
  const size = addSizes(
    textSize(tool.name + tool.description),
    textSize(JSON.stringify(tool.inputSchema)),
  );
  toolSizes.set(tool, size);
  return size;
};

/** One for each history that grows: a subagent has its own. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: closures over one state; none of them is long
export function createTokenCounter({ log, fixed }: TokenCounterDeps): TokenCounter {
  let anchor: Anchor | undefined;
  /** Real tokens over estimated ones. */
  let factor = 1;
  let lastUsage: Usage | null = null;
  /** All messages up to a head, so that the next count costs what is new. */
  let summed: { head: string; size: TextSize } | undefined;

  const tokensOf = (size: TextSize, by = factor) =>
    size.proseBytes / ratio(PROSE_RATIO / by) +
    size.denseBytes / ratio(DENSE_RATIO / by) +
    size.mediaTokens;
  const sizeOf = (messages: readonly LogMessage[]) =>
    messages.map(messageSize).reduce(addSizes, noSize);
  const isOn = (from: string, head: string, fresh: readonly LogMessage[]) =>
    log.depthOf(from) + fresh.length === log.depthOf(head);
  const fixedSize = () => {
    const { system, tools, userContext = '' } = fixed();
    return [...system.map(textSize), textSize(userContext), ...tools.map(toolSize)].reduce(
      addSizes,
      noSize,
    );
  };
  const historySize = (head: string) => {
    const fresh = log.since(summed?.head ?? '', head);
    const base = summed && isOn(summed.head, head, fresh) ? summed.size : noSize;
    summed = { head, size: addSizes(base, sizeOf(fresh)) };
    return summed.size;
  };
  const byBytes = (head: string, by = factor) =>
    tokensOf(addSizes(fixedSize(), historySize(head)), by);
  /** What stands after the anchor; `undefined` when the anchor is not on the way. */
  const afterAnchor = (head: string) => {
    if (!anchor) return undefined;
    const fresh = log.since(anchor.head, head);
    return isOn(anchor.head, head, fresh) ? fresh : undefined;
  };
  /** The first answer after the anchor is the one whose output was reported with it. */
  const splitAnswer = ({ answerTokens }: Anchor, fresh: readonly LogMessage[]) => {
    const apiId = fresh.find((message) => message.role === 'assistant')?.apiId;
    if (answerTokens === 0 || apiId === undefined) return { answered: 0, rest: fresh };
    return { answered: answerTokens, rest: fresh.filter((message) => message.apiId !== apiId) };
  };
  const fromAnchor = (from: Anchor, fresh: readonly LogMessage[]) => {
    const { answered, rest } = splitAnswer(from, fresh);
    return from.tokens + answered + tokensOf(sizeOf(rest));
  };
  const estimate = (head: string) => {
    const fresh = afterAnchor(head);
    return Math.ceil(anchor && fresh ? fromAnchor(anchor, fresh) : byBytes(head));
  };
  /** What the API has told, as real tokens over estimated ones; `undefined`: it tells nothing. */
  const wantedFactor = (head: string, tokens: number) => {
    const fresh = afterAnchor(head);
    if (anchor && fresh) {
      // From one usage to the next: what a system prompt or a tool really costs does not matter.
      const { answered, rest } = splitAnswer(anchor, fresh);
      const size = sizeOf(rest);
      const before = anchor.tokens + anchor.clearedTokens;
      return share(tokens - before - answered - size.mediaTokens, size);
    }
    const size = historySize(head);
    const isMostlyHistory = tokensOf(size, 1) > HISTORY_OVER_FIXED * tokensOf(fixedSize(), 1);
    if (!isMostlyHistory) return undefined;
    return share(tokens - size.mediaTokens, addSizes(fixedSize(), size));
  };
  const share = (tokens: number, size: TextSize) => {
    const text = tokensOf({ ...size, mediaTokens: 0 }, 1);
    return text < CALIBRATION_TOKENS_MIN || tokens <= 0 ? undefined : tokens / text;
  };
  /** Sent, and left out by the API: the estimate has it not, once an answer has said so. */
  const clearedIn = (head: string) => (anchor && afterAnchor(head) ? anchor.clearedTokens : 0);
  const trust = (head: string, told: Omit<Anchor, 'head'>) => {
    const sent = told.tokens + told.clearedTokens;
    if (sent < TRUSTED_SHARE * (estimate(head) + clearedIn(head))) return;
    const wanted = wantedFactor(head, sent);
    anchor = { head, ...told };
    if (wanted === undefined) return;
    const within = Math.min(PROSE_RATIO / RATIO_MIN, Math.max(PROSE_RATIO / RATIO_MAX, wanted));
    // Half of the way: one odd result must not turn all estimates.
    factor = (factor + within) / 2;
  };

  return {
    estimate,
    noteUsage: (head, usage, clearedTokens = 0) => {
      const prompt =
        count(usage?.input_tokens) +
        count(usage?.cache_read_input_tokens) +
        count(usage?.cache_creation_input_tokens);
      const answerTokens = count(usage?.output_tokens);
      if (prompt === 0) return;
      lastUsage = {
        input_tokens: count(usage?.input_tokens),
        output_tokens: answerTokens,
        cache_read_input_tokens: count(usage?.cache_read_input_tokens),
        cache_creation_input_tokens: count(usage?.cache_creation_input_tokens),
      };
      trust(head, { tokens: prompt, clearedTokens, answerTokens, isCached: true });
    },
    noteCount: (head, tokens) => {
      if (count(tokens) > 0)
        trust(head, { tokens, clearedTokens: 0, answerTokens: 0, isCached: false });
    },
    noteRewrite: (from, to) => {
      if (!anchor || !afterAnchor(from)) return;
      if (afterAnchor(to)) return; // only what came after it is different
      const freed = byBytes(from) - byBytes(to);
      // What was left out anyway frees nothing by going.
      const clearedTokens = Math.max(0, anchor.clearedTokens - Math.max(0, freed));
      const sent = estimate(from) + anchor.clearedTokens - freed;
      const tokens = Math.max(sent, byBytes(to) * TRUSTED_SHARE) - clearedTokens;
      anchor = {
        ...{ head: to, tokens: Math.max(0, tokens), clearedTokens },
        ...{ answerTokens: 0, isCached: false },
      };
    },
    estimateMessages: (messages) => Math.ceil(tokensOf(sizeOf(messages))),
    estimateText: (text) => Math.ceil(tokensOf(textSize(text))),
    fixedParts: () => {
      const { system, tools, userContext = '' } = fixed();
      return {
        system: Math.ceil(tokensOf(system.map(textSize).reduce(addSizes, noSize))),
        userContext: Math.ceil(tokensOf(textSize(userContext))),
        tools: tools.map((tool) => ({
          name: tool.name,
          tokens: Math.ceil(tokensOf(toolSize(tool))),
        })),
      };
    },
    lastUsage: () => lastUsage,
    learnt: () => {
      if (!anchor) return { factor, usage: lastUsage };
      const { head, ...told } = anchor;
      const uuid = head.slice(head.indexOf('/') + 1);
      const place = { uuid, count: log.depthOf(head) };
      return { factor, usage: lastUsage, anchor: { ...place, ...told } };
    },
    goOn: (learnt, headOf) => {
      factor = learnt.factor;
      lastUsage = learnt.usage;
      if (!learnt.anchor) return;
      const { uuid, count: depth, ...told } = learnt.anchor;
      const head = headOf({ uuid, count: depth });
      anchor = head === undefined ? undefined : { head, ...told };
    },
    covered: (head) => (anchor?.isCached && afterAnchor(head) ? anchor.tokens : 0),
    breakdown: (head) => {
      const parts = new Map<Category, number>([['fixed', tokensOf(fixedSize())]]);
      const add = (category: Category, tokens: number) =>
        parts.set(category, (parts.get(category) ?? 0) + tokens);
      for (const message of log.at(head)) {
        const { mediaTokens, ...text } = messageSize(message);
        add('media', mediaTokens);
        add(categoryOf(message), tokensOf({ ...text, mediaTokens: 0 }));
      }
      const entries = categories.map((category) => [category, Math.ceil(parts.get(category) ?? 0)]);
      return Object.fromEntries(entries) as Record<Category, number>;
    },
  };
}
