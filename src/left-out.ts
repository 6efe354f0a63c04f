/** What a build has been made without (`services/features.ts`), and somebody asks for all the same. */
import {
  CACHED_MICROCOMPACT,
  CONTEXT_COLLAPSE,
  HISTORY_SNIP,
  TOKEN_BUDGET,
} from '../services/features.ts';
import type { QueryEngineConfig } from './config.ts';
import type { Settings } from './settings.ts';
import { UsageError } from './usage-error.ts';

type Key = 'historySnip' | 'tokenBudget' | 'cachedMicrocompact' | 'contextCollapse';

/** Of the options or of the settings, whichever win. */
export type AskedFor = { readonly [K in Key]?: Settings[K] | undefined };

/**
 * A mechanism that is not there must not look like one that is switched on.
 * @throws UsageError
 */
export function refuseWhatIsLeftOut(asked: AskedFor): void {
  const missing =
    (!HISTORY_SNIP && asked.historySnip !== undefined && 'historySnip') ||
    (!TOKEN_BUDGET && asked.tokenBudget !== undefined && 'tokenBudget') ||
    (!CACHED_MICROCOMPACT && asked.cachedMicrocompact && 'cachedMicrocompact') ||
    (!CONTEXT_COLLAPSE && asked.contextCollapse && 'contextCollapse');
  if (!missing) return;
  throw new UsageError(
    `${missing}: this build has been made without it: leave the setting out, or use a build with it`,
  );
}

/** The same of an engine that a host configures itself. @throws UsageError */
export function refuseConfigLeftOut({
  historySnip,
  tokenBudget,
  gates,
}: Pick<QueryEngineConfig, 'historySnip' | 'tokenBudget' | 'gates'>): void {
  refuseWhatIsLeftOut({ ...gates, historySnip, tokenBudget });
}
