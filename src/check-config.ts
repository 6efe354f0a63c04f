/**
 * The configuration of an engine that a host makes itself: what bounds and guards it. The rest is
 * TypeScript's to check; `check-options.ts` checks all that comes as options.
 */
import { permissionMode } from './check-options.ts';
import { checkTools } from './check-tools.ts';
import { type Check, fieldsOf, orUnbounded, positive, wholePositive } from './checks.ts';
import type { QueryEngineConfig } from './config.ts';
import { UsageError } from './usage-error.ts';

/** A bound that is `NaN` never binds, and looks like one. */
const bounds: Check = fieldsOf(
  {},
  {
    autoCompactWindow: wholePositive,
    maxBudgetUsd: orUnbounded(positive),
    maxDurationMs: orUnbounded(wholePositive),
    maxOutputTokens: wholePositive,
    maxTurns: orUnbounded(wholePositive),
    tokenBudget: wholePositive,
  },
);

/** @throws UsageError naming the field or the tool, what it is and what is expected. */
export function checkConfig(config: QueryEngineConfig): void {
  const { mode } = config.getAppState().toolPermissionContext;
  const [problem] = [...bounds(config, 'config'), ...permissionMode(mode, 'permissionMode')];
  if (problem !== undefined) throw new UsageError(problem);
  checkTools(config.tools, config.mcpClients);
}
