/**
 * Context editing, as it goes over the wire: the API itself leaves the oldest results of tools out
 * of a long prompt. A beta. Our requests stay whole; what was left out is told with the answer.
 */
import type { BetaContextManagementConfig } from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { Failure, FailureClass } from '../../machines/state.ts';
import { isRecord } from '../is-record.ts';

/** Asked for by a header; without it the API knows no such field. */
export const CONTEXT_EDITING_BETA = 'context-management-2025-06-27';
const CLEAR_TOOL_USES = 'clear_tool_uses_20250919';

/** What is asked for. All by counts and names: nobody looks at what a result says. */
export interface ContextEdit {
  /** A prompt below this stays as it is. */
  readonly triggerTokens: number;
  /** So many of the newest calls keep their results. */
  readonly usesKept: number;
  /** Each change costs the cache of what comes after it: less than this is not worth it. */
  readonly clearedTokensMin: number;
  /** Tools whose results cannot be had again. */
  readonly excludedTools: readonly string[];
}

/** What was done to a prompt, all of it each time: the next request is whole again. */
export interface AppliedEdit {
  readonly clearedTokens: number;
  readonly clearedUses: number;
}

/** The field of a request. */
export const contextManagement = (edit: ContextEdit): BetaContextManagementConfig => ({
  edits: [
    {
      type: CLEAR_TOOL_USES,
      trigger: { type: 'input_tokens', value: edit.triggerTokens },
      keep: { type: 'tool_uses', value: edit.usesKept },
      clear_at_least: { type: 'input_tokens', value: edit.clearedTokensMin },
      ...(edit.excludedTools.length > 0 ? { exclude_tools: [...edit.excludedTools] } : {}),
    },
  ],
});

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

/** The field of an answer. `undefined`: it says nothing of the matter, as a server does that has not understood. */
export function readAppliedEdit(value: unknown): AppliedEdit | undefined {
  if (!isRecord(value) || !Array.isArray(value.applied_edits)) return undefined;
  const edits = value.applied_edits.filter(isRecord).filter(({ type }) => type === CLEAR_TOOL_USES);
  const sum = (field: string) => edits.reduce((total, edit) => total + count(edit[field]), 0);
  return { clearedTokens: sum('cleared_input_tokens'), clearedUses: sum('cleared_tool_uses') };
}

const REFUSALS: readonly FailureClass[] = ['bad_request', 'auth', 'not_found'];
const OURS = /context[_-]management|clear_tool_uses/i;
/** Gateways that name no beta: "invalid beta flag" is what Bedrock says. */
const ANY_BETA = /\bbetas?\b/i;
/** … and if they name one, it is another. */
const NAMED_BETA = /[a-z]+-\d{4}-\d{2}-\d{2}/;

/**
 * The server wants no request with this field, or this header. By its words, for the status says
 * only that it wants something else:
 *
 * | 400 "context_management: Extra inputs are not permitted"          | the API without the beta, Vertex, gateways
 * | 400 "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header" | the API
 * | 400 "invalid beta flag"                                           | Bedrock
 */
export const refusesContextEditing = ({ class: kind, detail }: Failure): boolean =>
  REFUSALS.includes(kind) &&
  (OURS.test(detail) ||
    (kind === 'bad_request' && ANY_BETA.test(detail) && !NAMED_BETA.test(detail)));
