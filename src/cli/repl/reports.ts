/** What the interactive mode says by itself, as lines. Pure. */
import type pc from 'picocolors';
import type { ToolPermissionContext } from '../../../services/permissions/types.ts';
import type { SDKResultMessage } from '../../wire.ts';
import { printable, visible } from '../printable.ts';
import { commandsLike } from './commands.ts';

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

/** Of a long prompt so much is repeated in the text. */
const ECHO_LINES_MAX = 20;

/** A prompt as it is repeated in the text. */
export function echoLines(
  text: string,
  colors: ReturnType<typeof pc.createColors>,
): readonly string[] {
  const lines = visible(text).split('\n');
  const more = lines.length - ECHO_LINES_MAX;
  return [
    ...lines
      .slice(0, ECHO_LINES_MAX)
      .map((line, index) => `${index === 0 ? colors.bold('> ') : '  '}${line}`),
    ...(more > 0 ? [colors.dim(`  … ${more} more lines`)] : []),
  ];
}

/** So many commands are guessed at after a slip. */
const MEANT_MAX = 5;

/**
 * After a slip: what was perhaps meant, and how to say it all the same.
 * @param connecting servers whose commands are not known yet.
 */
export function unknownCommandLine(
  name: string,
  engineCommands: readonly string[],
  connecting: readonly string[],
): string {
  const like = commandsLike(name, engineCommands).slice(0, MEANT_MAX);
  const named = like.map((one) => `/${visible(one)}`).join(' or ');
  const remedy = named === '' ? '/help lists them.' : `Did you mean ${named}?`;
  const servers = connecting.map(visible).join(', ');
  const later = servers === '' ? '' : ` Still connecting, and may bring it: ${servers}.`;
  const asked = visible(name);
  return `There is no command /${asked}, so nothing was sent. ${remedy}${later} A prompt may begin with a blank.`;
}
