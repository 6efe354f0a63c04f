/**
 * Context editing as the API does it: once a prompt is above a trigger, the results of the oldest
 * tool calls are left out before the model reads it, and the answer says how much that was. The
 * client goes on sending everything. One strategy: `clear_tool_uses_20250919`.
 */
import { isRecord } from '../../services/is-record.ts';
import { type JsonObject, recordsIn } from './json.ts';
import { blocksOf, type RequestBody } from './received-request.ts';
import { tokensOfBlock, tokensOfRequest } from './tokens.ts';

/** The beta that a request must ask for before it may say `context_management`. */
export const CONTEXT_EDITING_BETA = 'context-management-2025-06-27';
const CLEAR_TOOL_USES = 'clear_tool_uses_20250919';
/** The API's own, where an edit does not say. */
const TRIGGER_TOKENS = 100_000;
const USES_KEPT = 3;
const PLACEHOLDER = '[cleared]';

/** What was done to a prompt, in the words of the API. */
export interface AppliedEdit {
  readonly type: typeof CLEAR_TOOL_USES;
  readonly cleared_tool_uses: number;
  readonly cleared_input_tokens: number;
}

/** A request as the model reads it. */
export interface EditedRequest {
  readonly body: RequestBody;
  /** `undefined`: the request asks for no editing. */
  readonly applied: readonly AppliedEdit[] | undefined;
}

/** Applies the edits that a request asks for. Pure: the body that came stays as it is. */
export function editContext(body: RequestBody): EditedRequest {
  if (!isRecord(body.context_management)) return { body, applied: undefined };
  const wanted = recordsIn(body.context_management.edits);
  const edit = wanted.find(({ type }) => type === CLEAR_TOOL_USES);
  const cleared = edit ? clearedBy(edit, body) : new Map<string, number>();
  if (cleared.size === 0) return { body, applied: [] };
  const tokens = [...cleared.values()].reduce((sum, each) => sum + each, 0);
  return {
    body: {
      ...body,
      messages: recordsIn(body.messages).map((one) => withoutResults(one, cleared)),
    },
    applied: [
      {
        type: CLEAR_TOOL_USES,
        cleared_tool_uses: cleared.size,
        cleared_input_tokens: tokens,
      },
    ],
  };
}

const numberIn = (field: unknown, otherwise: number): number =>
  isRecord(field) && typeof field.value === 'number' ? field.value : otherwise;

/** Tokens that go, by the id of the call; nothing where it is not worth it. */
function clearedBy(edit: JsonObject, body: RequestBody): ReadonlyMap<string, number> {
  const nothing = new Map<string, number>();
  const blocks = recordsIn(body.messages).flatMap(({ content }) => blocksOf(content));
  const excluded = new Set(Array.isArray(edit.exclude_tools) ? edit.exclude_tools : []);
  const calls = blocks.filter(({ type, name }) => type === 'tool_use' && !excluded.has(name));
  const byUses = isRecord(edit.trigger) && edit.trigger.type === 'tool_uses';
  const size = byUses ? calls.length : tokensOfRequest(body);
  if (size <= numberIn(edit.trigger, TRIGGER_TOKENS)) return nothing;
  const kept = numberIn(edit.keep, USES_KEPT);
  const old = new Set(calls.slice(0, Math.max(0, calls.length - kept)).map(({ id }) => String(id)));
  const placeholder = tokensOfBlock({ type: 'text', text: PLACEHOLDER });
  const freed = new Map(
    blocks
      .filter(({ type, tool_use_id: id }) => type === 'tool_result' && old.has(String(id)))
      .map((block) => [String(block.tool_use_id), Math.max(0, tokensOfBlock(block) - placeholder)]),
  );
  const sum = [...freed.values()].reduce((total, each) => total + each, 0);
  return sum < numberIn(edit.clear_at_least, 0) ? nothing : freed;
}

function withoutResults(message: JsonObject, cleared: ReadonlyMap<string, number>): JsonObject {
  const content = blocksOf(message.content).map((block) =>
    block.type === 'tool_result' && cleared.has(String(block.tool_use_id))
      ? { ...block, content: PLACEHOLDER }
      : block,
  );
  return { ...message, content };
}
