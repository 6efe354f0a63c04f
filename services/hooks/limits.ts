/** Every bound of the hooks, unit last in the name. */
import type { HookEvent } from './types.ts';

const SECOND = 1_000;

export const hookLimits = {
  timeoutDefaultMs: 60 * SECOND,
  /** Around a tool: the executor's deadline for a call counts on no more than this. */
  toolTimeoutMaxMs: 60 * SECOND,
  /** Everywhere else: below the chart's deadline for all stop hooks (5 min). */
  timeoutMaxMs: 240 * SECOND,
  /** Nobody waits for these. */
  asyncTimeoutMaxMs: 600 * SECOND,
  /** From SIGTERM to SIGKILL: somebody waits. */
  killGraceMs: 1 * SECOND,
  /** Of stdout and of stderr, each. An answer is a few hundred characters. */
  outputCharsMax: 1_000_000,
  /** What a hook may tell people beside its answer, before it is taken for one that never ends. */
  stderrBytesMax: 16_000_000,
  /** Of one text that goes to the model. */
  textCharsMax: 10_000,
  /** Of stderr in a warning. */
  excerptCharsMax: 500,
  /** Of the command in a warning. */
  commandCharsMax: 120,
  /** How often `hook_progress` says what was printed. */
  progressMs: 1 * SECOND,
  disposeGraceMs: 500,
} as const;

const toolEvents: ReadonlySet<HookEvent> = new Set([
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
]);

/** The longest time that somebody can wait for a hook of this event. */
export const timeoutMaxMsOf = (event: HookEvent, isAsync: boolean): number => {
  if (isAsync) return hookLimits.asyncTimeoutMaxMs;
  return toolEvents.has(event) ? hookLimits.toolTimeoutMaxMs : hookLimits.timeoutMaxMs;
};
