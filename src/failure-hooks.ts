/** A failure of the model or the API has its own event: Stop hooks judge answers. */
import type { TerminalReason } from '../machines/reasons.ts';
import type { QueryResult } from '../machines/state.ts';
import type { RunHooks } from '../services/hooks/types.ts';

const failureReasons: readonly TerminalReason[] = [
  'api_error',
  'model_error',
  'prompt_too_long',
  'image_error',
  'max_output_tokens',
  'refusal',
];
const HOOKS_MS = 60_000;

/** @param signal of the turn: an interrupt does not wait for those who want to hear of a failure. */
export async function tellFailure(
  { reason, failure }: QueryResult,
  runHooks: RunHooks,
  signal: AbortSignal,
): Promise<void> {
  if (!failureReasons.includes(reason)) return;
  await runHooks(
    'StopFailure',
    { error: reason, error_details: failure?.detail },
    { matchQuery: reason, signal: AbortSignal.any([AbortSignal.timeout(HOOKS_MS), signal]) },
  );
}
