/**
 * What is known of the models: windows, prices, how they think. A shipped table, since a lookup
 * over the network would delay every start.
 *
 * As of 2026-11-30. Sources: the model pages of platform.claude.com (windows, output limits,
 * prices, accepted `thinking` values), checked against @pydantic/genai-prices 0.1.8. Prices are
 * dollars per million tokens; a cache write is one of five minutes (an hour costs twice the input
 * price; we write none).
 */
import type { Usage } from './types.ts';

/** Dollars per million tokens. */
export interface Price {
  readonly inputUsdPerMtok: number;
  readonly outputUsdPerMtok: number;
  readonly cacheReadUsdPerMtok: number;
  readonly cacheWriteUsdPerMtok: number;
}

/** `enabled` wants a budget and refuses `adaptive`; the later ones are the other way round. */
export type ThinkingStyle = 'enabled' | 'adaptive' | 'none';

export interface ModelFacts {
  /** In the table. What is not has the smallest window, no price, and is asked for nothing. */
  readonly isKnown: boolean;
  readonly contextWindowTokens: number;
  readonly outputTokensMax: number;
  /** `null`: not known. Never 0. */
  readonly price: Price | null;
  /** A prompt above `aboveTokens` (cache included) is billed at this, its answer too. */
  readonly longPrompt?: { readonly aboveTokens: number; readonly price: Price };
  readonly thinking: ThinkingStyle;
  /** What switches thinking off. Without it: leaving the field out, or nothing at all. */
  readonly off?: 'disabled' | 'between_tools';
  /** For summaries and descriptions. */
  readonly isSmall: boolean;
}

const K = 1_000;
const M = 1_000_000;
/** The usual ratios: a cache read costs a tenth of the input, a write a quarter more. */
const price = (
  input: number,
  output: number,
  cacheRead = input / 10,
  cacheWrite = input * 1.25,
): Price => ({
  inputUsdPerMtok: input,
  outputUsdPerMtok: output,
  cacheReadUsdPerMtok: cacheRead,
  cacheWriteUsdPerMtok: cacheWrite,
});

/** The 200,000-token models: thinking by budget, off when it is not asked for. */
const classic = (outputTokensMax: number, cost: Price, more: Partial<ModelFacts> = {}) =>
  facts({
    contextWindowTokens: 200 * K,
    outputTokensMax,
    price: cost,
    thinking: 'enabled',
    ...more,
  });
/** The million-token models: 128,000 out, adaptive thinking only (4.6: both, budgets deprecated). */
const large = (cost: Price | null, more: Partial<ModelFacts> = {}) =>
  facts({
    contextWindowTokens: M,
    outputTokensMax: 128 * K,
    price: cost,
    thinking: 'adaptive',
    ...more,
  });
const facts = (
  given: Pick<ModelFacts, 'contextWindowTokens' | 'outputTokensMax' | 'price' | 'thinking'> &
    Partial<ModelFacts>,
): ModelFacts => ({ isKnown: true, isSmall: false, ...given });

/** By family and version, newest first within a family. */
const table: Readonly<Record<string, ModelFacts>> = {
  'fable-5-2': large(null), // 8 / 40; its cache prices are not known to us
  'fable-5-1': large(price(10, 50, 0.25)),
  'fable-5': large(price(10, 50)),
  'opus-5-5': large(price(4, 20, 0.2)), // thinks always
  'opus-5': large(price(5, 25), { off: 'disabled' }),
  'opus-4-8': large(price(5, 25)),
  'opus-4-7': large(price(5, 25)),
  'opus-4-6': large(price(5, 25)),
  'opus-4-5': classic(64 * K, price(5, 25)),
  'opus-4-1': classic(32 * K, price(15, 75)),
  'opus-4': classic(32 * K, price(15, 75)),
  'opus-3': classic(4_096, price(15, 75), { thinking: 'none' }),
  'sonnet-5-5': large(price(2, 10, 0.1), { off: 'between_tools' }),
  'sonnet-5': large(price(2, 10), { off: 'disabled' }),
  'sonnet-4-6': large(price(3, 15)),
  'sonnet-4-5': classic(64 * K, price(3, 15)),
  'sonnet-4': classic(64 * K, price(3, 15)),
  'sonnet-3-7': classic(64 * K, price(3, 15)),
  'sonnet-3-5': classic(8_192, price(3, 15), { thinking: 'none' }),
  'haiku-5-5': large(price(0.1, 0.5), {
    longPrompt: { aboveTokens: 100 * K, price: price(0.5, 2.5) },
    off: 'disabled',
    isSmall: true,
  }),
  'haiku-4-5': classic(64 * K, price(1, 5), { isSmall: true }),
  'haiku-3-5': classic(8_192, price(0.8, 4), { thinking: 'none', isSmall: true }),
  'haiku-3': classic(4_096, price(0.25, 1.25, 0.03, 0.3), { thinking: 'none', isSmall: true }),
};

/** A window that every model of the last years has; a larger guess would end in a refusal. */
const unknown: ModelFacts = {
  isKnown: false,
  contextWindowTokens: 200 * K,
  outputTokensMax: 64 * K,
  price: null,
  thinking: 'none',
  isSmall: false,
};
/** A Claude that came after this table: as the newest do it. */
const unknownClaude: ModelFacts = { ...unknown, thinking: 'adaptive' };

/**
 * What is known of a model, whatever a platform calls it: `claude-sonnet-4-5-20250929`,
 * `us.anthropic.claude-opus-4-5-20251101-v1:0`, `anthropic/claude-sonnet-5.5`,
 * `claude-3-7-sonnet-latest`, `claude-opus-4@20250514`.
 */
export function modelFacts(model: string): ModelFacts {
  const key = keyOf(model);
  if (key === undefined) return unknown;
  return table[key] ?? unknownClaude;
}

const FAMILY = '(opus|sonnet|haiku|fable|mythos)';
const VERSION_LAST = new RegExp(`claude-${FAMILY}-(\\d{1,2})(?:-(\\d{1,2}))?(?!\\d)`);
const VERSION_FIRST = new RegExp(`claude-(\\d)(?:-(\\d))?-${FAMILY}`);

function keyOf(model: string): string | undefined {
  const name = model.toLowerCase().replaceAll(/[._]/g, '-');
  const first = VERSION_FIRST.exec(name);
  if (first) return joinKey(first[3], first[1], first[2]);
  const last = VERSION_LAST.exec(name);
  if (last) return joinKey(last[1], last[2], last[3]);
  return name.includes('claude') ? name : undefined;
}
const joinKey = (family = '', major = '', minor = '0') =>
  minor === '0' ? `${family}-${major}` : `${family}-${major}-${minor}`;

/**
 * Whether signed thinking of the one goes to the other: the same id, or an alias and one snapshot
 * of it.
 */
export function isSameModel(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [undated(one), undated(other)];
  // Two snapshots of an alias are two models.
  return a === b && (a === one || b === other);
}
const undated = (model: string) => model.replace(/(-latest|[-@]20\d{6})$/, '');

/**
 * What an answer has cost, in dollars, as it is billed: one request at a time, for a long prompt
 * may have another price. `null`: the price is not known.
 */
export function costOf(model: string, usage: Usage): number | null {
  const facts = modelFacts(model);
  const promptTokens =
    usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
  const { longPrompt } = facts;
  const isLong = longPrompt !== undefined && promptTokens > longPrompt.aboveTokens;
  const at = isLong ? longPrompt.price : facts.price;
  if (at === null) return null;
  const millionths =
    usage.input_tokens * at.inputUsdPerMtok +
    usage.output_tokens * at.outputUsdPerMtok +
    usage.cache_read_input_tokens * at.cacheReadUsdPerMtok +
    usage.cache_creation_input_tokens * at.cacheWriteUsdPerMtok;
  return millionths / M;
}

/** What a person can choose from, newest first within a family. */
export const modelTable: readonly { readonly id: string; readonly name: string }[] = Object.keys(
  table,
).map((key) => {
  const [family = '', ...version] = key.split('-');
  const id = /^[3]/.test(version[0] ?? '')
    ? `claude-${version.join('-')}-${family}-latest`
    : `claude-${key}`;
  return { id, name: `Claude ${family[0]?.toUpperCase()}${family.slice(1)} ${version.join('.')}` };
});

/** The newest model of a family that a person named: `sonnet`, `opus`, `haiku`. */
export const modelByAlias = (alias: string): string | undefined =>
  modelTable.find(({ id }) => id.startsWith(`claude-${alias.toLowerCase()}-`))?.id;

/** The newest Sonnet. */
export const defaultModel = (): string => newest('sonnet');
/** The newest Haiku. */
export const smallModel = (): string => newest('haiku');

/** The model for summaries and descriptions: other servers may know no Haiku. */
export const smallModelFor = (main: string, baseURL?: string): string =>
  isAnthropicUrl(baseURL) ? smallModel() : main;

function isAnthropicUrl(baseURL: string | undefined): boolean {
  if (baseURL === undefined || baseURL === '') return true;
  return URL.canParse(baseURL) && /(^|\.)anthropic\.com$/.test(new URL(baseURL).hostname);
}

const newest = (family: string): string =>
  `claude-${Object.keys(table).find((key) => key.startsWith(`${family}-`))}`;
