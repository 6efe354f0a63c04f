/** What `/cost` and `/permissions` answer, as lines. Pure. */
import type { ToolPermissionContext } from '../../../services/permissions/types.ts';
import type { SDKResultMessage } from '../../wire.ts';
import { printable } from '../printable.ts';

const count = (tokens: number): string => tokens.toLocaleString('en-US');
const price = (usd: number | null): string =>
  usd === null ? 'price unknown' : `$${usd.toFixed(4)}`;

/** Tokens and price of the session, by model. */
export function costLines(result: SDKResultMessage | undefined): readonly string[] {
  if (!result) return ['Nothing was spent in this session.'];
  const models = Object.entries(result.modelUsage).map(([name, usage]) => {
    const cached = usage.cacheReadInputTokens + usage.cacheCreationInputTokens;
    const cache = cached > 0 ? ` (and ${count(cached)} by the cache)` : '';
    const tokens = `${count(usage.inputTokens)} tokens in${cache}, ${count(usage.outputTokens)} out`;
    return `  ${printable(name)}: ${tokens} · ${price(usage.costUSD)}`;
  });
  return [`This session: ${price(result.total_cost_usd)}`, ...models];
}

/** The mode, and the rules by where they come from. */
export function permissionLines({ mode, rules }: ToolPermissionContext): readonly string[] {
  const lines = rules.flatMap(({ source, ...kinds }) =>
    (['deny', 'ask', 'allow'] as const).flatMap((kind) =>
      kinds[kind].map((rule) => `  ${kind.padEnd(6)}${printable(rule)}  (${source})`),
    ),
  );
  return [`Mode: ${mode}`, ...(lines.length > 0 ? lines : ['  no rules'])];
}
