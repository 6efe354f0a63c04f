/**
 * A walk through the engine as plain data: what the model says and how it goes wrong, what hooks,
 * tools and people do, and what the host does meanwhile. Everything is in it, so that a walk that
 * failed can be stored, cut down and walked again.
 */

import type { HookEvent } from '../../services/hooks/types.ts';
import type { PermissionMode } from '../../services/permissions/types.ts';
import type { Gates } from '../../src/config.ts';
import type { Reply } from '../../src/testing/script.ts';

/** What the two tools of the host do with a call; it stands in the input: `{ "does": "hang" }`. */
export const toolOutcomes = [
  'ok',
  'fail',
  'throw',
  'throw at once',
  'hang',
  'ignore the abort',
  'never end',
  'huge',
  'odd text',
  'empty',
  'image',
  'slow',
  'no output',
  'bad output',
] as const;
export type ToolOutcome = (typeof toolOutcomes)[number];

/** What a person says when asked about a call; in the input, too: `{ "asked": "deny" }`. */
export const personAnswers = [
  'allow',
  'edit',
  'deny',
  'interrupt',
  'late',
  'never',
  'throw',
  'nonsense',
] as const;
export type PersonAnswer = (typeof personAnswers)[number];

export const hookDeeds = [
  'pass',
  'block',
  'prevent',
  'hang',
  'throw',
  'nonsense',
  'context',
  'odd text',
  'allow',
  'deny',
  'ask',
  'defer',
  'edit',
  'replace',
] as const;
export type HookDeed = (typeof hookDeeds)[number];

/** A hook of the host, or a command of the settings. */
export interface WalkHook {
  readonly event: HookEvent;
  readonly does: HookDeed;
  /** How often, before it lets everything pass. */
  readonly times: number;
  /** A shell command that prints its answer, or ends with 2. Default: a function. */
  readonly isCommand?: true;
  readonly failsClosed?: true;
}

export const hostDeeds = [
  'interrupt',
  'interrupt twice',
  'enqueue',
  'enqueue now',
  'enqueue later',
  'cancel',
  'leave',
  'pause',
  'kill',
  'abort',
  'set model',
  'set mode',
  'snip',
  'usage',
  'close',
] as const;
export type HostDeed = (typeof hostDeeds)[number];

/** Something that the host does in the middle of a turn. */
export interface Act {
  readonly does: HostDeed;
  /** After so many messages of the turn … */
  readonly afterMessages: number;
  /** … and so many ms. */
  readonly afterMs: number;
}

export interface WalkTurn {
  readonly prompt: string;
  readonly acts: readonly Act[];
}

/** Each field is left out where the default is meant, so that fewer of them are a smaller walk. */
export interface WalkSettings {
  readonly mode?: PermissionMode;
  readonly isPartial?: true;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly maxDurationMs?: number;
  readonly maxOutputTokens?: number;
  readonly tokenBudget?: number;
  readonly taskBudget?: number;
  readonly wantsShape?: true;
  readonly hasFallback?: true;
  readonly thinking?: 'adaptive' | 'enabled';
  readonly autoCompactWindow?: number;
  readonly historySnip?: number;
  readonly isBare?: true;
  readonly finishesInterrupted?: true;
  readonly gates?: Partial<Gates>;
}

export interface Walk {
  /** For people. */
  readonly about?: string;
  readonly replies: readonly Reply[];
  readonly compactions?: readonly Reply[];
  readonly collapses?: readonly Reply[];
  readonly toolSummaries?: readonly Reply[];
  readonly countTokens?: number;
  readonly window?: number;
  readonly settings: WalkSettings;
  readonly hooks: readonly WalkHook[];
  readonly turns: readonly WalkTurn[];
}
