/**
 * What the Messages API refuses, one small function per rule. The scripted server applies them to
 * every request; `checkRequest` is for tests of anything that makes requests.
 */
import { isRecord } from '../../services/is-record.ts';
import { CONTEXT_EDITING_BETA, editContext } from './context-editing.ts';
import { imageFacts } from './image-facts.ts';
import { type JsonObject, recordsIn } from './json.ts';
import { pdfPages } from './pdf-pages.ts';
import { blocksOf, type RequestBody } from './received-request.ts';
import type { SentMemory } from './sent-memory.ts';
import { tokensOfRequest } from './tokens.ts';

/** What the rules know beside the request. */
export interface StrictContext {
  /** Rule S8, and the exception of S6. Without it neither is checked. */
  readonly memory?: SentMemory;
  /** Length of the body as it came. Default: of the body written as JSON. */
  readonly bytes?: number;
  /** Rule S15; without it no size is too large. */
  readonly windowTokens?: number;
  /** Default: 100. */
  readonly imagesMax?: number;
  /** Betas that the request asks for by its header. Without it they are not checked. */
  readonly betas?: readonly string[];
}

/** What a rule says about a request: where, and what is wrong there. */
export interface Finding {
  /** `messages.3.content.1`; empty for the whole request. */
  readonly path: string;
  readonly message: string;
}

/** One broken rule. */
export interface Violation extends Finding {
  readonly rule: RuleId;
}

/** A rule of the API. */
export interface StrictRule {
  readonly id: RuleId;
  readonly sentence: string;
  /** *Contract:* pure but for `context.memory`, never throws, whatever the body is. */
  readonly check: (request: RequestView, context: StrictContext) => Iterable<Finding>;
}

export const RULE_IDS = [
  'S1',
  'S2',
  'S3',
  'S4',
  'S5',
  'S6',
  'S7',
  'S8',
  'S9',
  'S10',
  'S11',
  'S12',
  'S13',
  'S14',
  'S15',
  'SX',
] as const;
export type RuleId = (typeof RULE_IDS)[number];

interface PlacedBlock {
  readonly block: JsonObject;
  readonly path: string;
}

interface MessageView {
  readonly role: unknown;
  readonly path: string;
  readonly blocks: readonly PlacedBlock[];
}

/** A request laid out for the rules: every content is a list of blocks that know their place. */
export interface RequestView {
  readonly body: RequestBody;
  readonly messages: readonly MessageView[];
  readonly system: readonly PlacedBlock[];
  readonly tools: readonly PlacedBlock[];
}

/** Lays a body out for the rules. What is no object counts as absent. */
function requestView(body: RequestBody): RequestView {
  const placed = (blocks: readonly JsonObject[], path: string): PlacedBlock[] =>
    blocks.map((block, at) => ({ block, path: `${path}.${at}` }));
  return {
    body,
    system: placed(blocksOf(body.system), 'system'),
    tools: placed(recordsIn(body.tools), 'tools'),
    messages: recordsIn(body.messages).map((message, at) => ({
      role: message.role,
      path: `messages.${at}`,
      blocks: placed(blocksOf(message.content), `messages.${at}.content`),
    })),
  };
}

const typeOf = ({ block }: PlacedBlock): unknown => block.type;
const isToolUse = (placed: PlacedBlock): boolean => typeOf(placed) === 'tool_use';
const isToolResult = (placed: PlacedBlock): boolean => typeOf(placed) === 'tool_result';
/** Results of tools that the API runs itself stand in the assistant's own message. */
const isServerToolResult = (placed: PlacedBlock): boolean =>
  !isToolResult(placed) && String(typeOf(placed)).endsWith('_tool_result');
const isThinking = (placed: PlacedBlock): boolean =>
  typeOf(placed) === 'thinking' || typeOf(placed) === 'redacted_thinking';
const isBlank = (value: unknown): boolean => String(value ?? '').trim() === '';

/** Blocks inside of a tool_result. */
const insideOf = ({ block, path }: PlacedBlock): PlacedBlock[] =>
  block.type === 'tool_result' && Array.isArray(block.content)
    ? recordsIn(block.content).map((part, at) => ({
        block: part,
        path: `${path}.content.${at}`,
      }))
    : [];

/** All blocks of all messages, those in tool_results too. */
const allBlocks = ({ messages }: RequestView): PlacedBlock[] =>
  messages.flatMap(({ blocks }) => blocks.flatMap((placed) => [placed, ...insideOf(placed)]));

function* answersToCalls({ messages }: RequestView): Iterable<Finding> {
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'assistant') continue;
    const next = messages[at + 1];
    const answers =
      next?.role === 'user'
        ? next.blocks.filter(isToolResult).map(({ block }) => block.tool_use_id)
        : [];
    for (const { block, path } of message.blocks.filter(isToolUse)) {
      const times = answers.filter((id) => id === block.id).length;
      if (times === 1) continue;
      yield {
        path,
        message: `tool_use ${String(block.id)} has ${times} tool_results in the next message`,
      };
    }
  }
}

function* callsOfAnswers({ messages }: RequestView): Iterable<Finding> {
  for (const [at, { role, blocks }] of messages.entries()) {
    const before = messages[at - 1];
    const calls =
      before?.role === 'assistant'
        ? before.blocks.filter(isToolUse).map(({ block }) => block.id)
        : [];
    for (const [index, placed] of blocks.entries()) {
      const id = placed.block.tool_use_id;
      const opened = isToolResult(placed)
        ? role === 'user' && calls.includes(id)
        : !isServerToolResult(placed) ||
          blocks.slice(0, index).some(({ block }) => block.id === id);
      if (opened) continue;
      yield {
        path: placed.path,
        message: `${String(typeOf(placed))} for ${String(id)}, which is no call before it`,
      };
    }
  }
}

const TOOL_USE_ID = /^[a-zA-Z0-9_-]+$/;

function* soundCalls({ messages }: RequestView): Iterable<Finding> {
  const seen = new Set<unknown>();
  for (const { block, path } of messages.flatMap(({ blocks }) => blocks.filter(isToolUse))) {
    const id = block.id;
    if (typeof id !== 'string' || !TOOL_USE_ID.test(id)) {
      yield { path, message: `id ${JSON.stringify(id)} is not made of a-z, A-Z, 0-9, _ and -` };
    }
    if (seen.has(id)) yield { path, message: `id ${String(id)} is not unique` };
    seen.add(id);
    if (!isRecord(block.input)) yield { path, message: 'input is not an object' };
  }
}

function* textNotBlank(request: RequestView): Iterable<Finding> {
  for (const placed of [...request.system, ...allBlocks(request)]) {
    const { block, path } = placed;
    if (typeOf(placed) === 'text' && isBlank(block.text)) {
      yield { path, message: 'text is empty or white space' };
    }
    if (isToolResult(placed) && typeof block.content === 'string' && isBlank(block.content)) {
      yield { path, message: 'content is empty or white space' };
    }
  }
}

function* contentNotEmpty({ messages }: RequestView): Iterable<Finding> {
  for (const { blocks, path } of messages) {
    if (blocks.length === 0) yield { path, message: 'content is empty' };
  }
}

function* roles({ messages }: RequestView, { memory }: StrictContext): Iterable<Finding> {
  for (const { role, path } of messages) {
    if (role !== 'user' && role !== 'assistant') {
      yield { path, message: `role ${JSON.stringify(role)} is neither user nor assistant` };
    }
  }
  const first = messages[0];
  const last = messages.at(-1);
  if (!first || !last) return yield { path: 'messages', message: 'there is none' };
  if (first.role !== 'user') yield { path: first.path, message: 'the first is not of the user' };
  if (last.role !== 'assistant') return;
  const blocks = last.blocks.map(({ block }) => block);
  if (memory?.endsWithPaused(blocks)) return;
  yield {
    path: last.path,
    message: 'the last is of the assistant, and not one that pause_turn ended, unchanged',
  };
}

function* resultsFirst({ messages }: RequestView): Iterable<Finding> {
  for (const { blocks } of messages) {
    const other = blocks.findIndex((placed) => !isToolResult(placed));
    if (other < 0) continue;
    for (const { path } of blocks.slice(other).filter(isToolResult)) {
      yield { path, message: 'tool_result after another block' };
    }
  }
}

function* thinkingUnchanged(request: RequestView, context: StrictContext): Iterable<Finding> {
  const { memory } = context;
  if (!memory) return;
  for (const { role, blocks } of request.messages) {
    if (role !== 'assistant') continue;
    let last = { message: -1, index: -1 };
    for (const placed of blocks) {
      const place = memory.placeOf(placed.block);
      if (!place) {
        if (isThinking(placed)) {
          yield { path: placed.path, message: 'thinking that was never sent like this' };
        }
        continue;
      }
      if (isThinking(placed) && place.model !== request.body.model) {
        yield { path: placed.path, message: `thinking of ${place.model} goes to another model` };
      }
      const isLater =
        place.message > last.message ||
        (place.message === last.message && place.index > last.index);
      if (!isLater) yield { path: placed.path, message: 'not in the order in which it was sent' };
      last = place;
    }
  }
  yield* thinkingKept(request, memory);
}

/** Only while thinking is on, and only in the newest message with calls. */
function* thinkingKept({ body, messages }: RequestView, memory: SentMemory): Iterable<Finding> {
  const mode = isRecord(body.thinking) ? body.thinking.type : undefined;
  if (mode !== 'enabled' && mode !== 'adaptive') return;
  const newest = messages.findLast(
    ({ role, blocks }) => role === 'assistant' && blocks.some(isToolUse),
  );
  if (!newest) return;
  const blocks = newest.blocks.map(({ block }) => block);
  const missing = memory.missingThinking(body.model, blocks);
  if (missing > 0) {
    yield { path: newest.path, message: `${missing} thinking blocks of its calls are missing` };
  }
}

const CACHE_MARKS_MAX = 4;

function* cacheMarks(request: RequestView): Iterable<Finding> {
  const marked = [...request.tools, ...request.system, ...allBlocks(request)].filter(({ block }) =>
    isRecord(block.cache_control),
  );
  // A mark on the request itself stands for one on its last block.
  const count = marked.length + (isRecord(request.body.cache_control) ? 1 : 0);
  if (count > CACHE_MARKS_MAX) yield { path: '', message: `${count} cache_control fields` };
  for (const { path } of marked.filter(isThinking)) {
    yield { path, message: 'cache_control on a thinking block' };
  }
}

/** Every string and key of a value, with its path. */
function* stringsIn(value: unknown, path: string): Iterable<{ path: string; text: string }> {
  if (typeof value === 'string') yield { path, text: value };
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const at = path === '' ? key : `${path}.${key}`;
    yield { path: at, text: key };
    yield* stringsIn(inner, at);
  }
}

/** With the u flag a pair is one character, so only a half alone has this category. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function* wellFormed({ body }: RequestView): Iterable<Finding> {
  for (const { path, text } of stringsIn(body, '')) {
    if (LONE_SURROGATE.test(text)) yield { path, message: 'a surrogate without its other half' };
  }
}

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const COMBINATIONS = ['oneOf', 'anyOf', 'allOf'];

function* soundTools({ tools }: RequestView): Iterable<Finding> {
  const seen = new Set<unknown>();
  for (const { block: tool, path } of tools) {
    const name = tool.name;
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
      yield { path, message: `name ${JSON.stringify(name)} is no tool name` };
    }
    if (seen.has(name)) yield { path, message: `name ${String(name)} is not unique` };
    seen.add(name);
    // Tools of the API itself have a type and no schema.
    if (tool.type !== undefined && tool.type !== 'custom') continue;
    const schema = isRecord(tool.input_schema) ? tool.input_schema : {};
    if (schema.type !== 'object') yield { path, message: "input_schema.type is not 'object'" };
    for (const word of COMBINATIONS.filter((combination) => combination in schema)) {
      yield { path, message: `input_schema has ${word} at its top` };
    }
  }
}

const IMAGES_MAX = 100;
/** 5 MiB of base64 characters, not of bytes. */
const IMAGE_CHARS_MAX = 5_242_880;
const IMAGE_SIDE_MAX_PIXELS = 8_000;

function* soundImages(request: RequestView, context: StrictContext): Iterable<Finding> {
  const images = allBlocks(request).filter((placed) => typeOf(placed) === 'image');
  const max = context.imagesMax ?? IMAGES_MAX;
  if (images.length > max) yield { path: '', message: `${images.length} images, ${max} may be` };
  for (const { block, path } of images) {
    const source = isRecord(block.source) ? block.source : {};
    if (source.type !== 'base64') continue;
    const data = String(source.data ?? '');
    if (data.length > IMAGE_CHARS_MAX) {
      yield { path, message: `image has ${data.length} characters, ${IMAGE_CHARS_MAX} may be` };
      continue;
    }
    const facts = imageFacts(Buffer.from(data, 'base64'));
    if (!facts) {
      yield { path, message: 'image is neither png nor jpeg, gif or webp' };
      continue;
    }
    if (facts.mediaType !== source.media_type) {
      yield { path, message: `media_type ${String(source.media_type)} is ${facts.mediaType}` };
    }
    if (Math.max(facts.width ?? 0, facts.height ?? 0) > IMAGE_SIDE_MAX_PIXELS) {
      yield { path, message: `image of ${facts.width} × ${facts.height} pixels` };
    }
  }
}

const PDF_PAGES_MAX = 100;

function* pdfLength(request: RequestView): Iterable<Finding> {
  let pages = 0;
  for (const placed of allBlocks(request).filter((block) => typeOf(block) === 'document')) {
    const source = isRecord(placed.block.source) ? placed.block.source : {};
    if (source.type !== 'base64' || source.media_type !== 'application/pdf') continue;
    pages += pdfPages(Buffer.from(String(source.data ?? ''), 'base64'));
  }
  if (pages > PDF_PAGES_MAX) yield { path: '', message: `${pages} pages of PDF` };
}

const BODY_BYTES_MAX = 32 * 1024 * 1024;

function* bodySize({ body }: RequestView, context: StrictContext): Iterable<Finding> {
  const bytes = context.bytes ?? Buffer.byteLength(JSON.stringify(body));
  if (bytes > BODY_BYTES_MAX) yield { path: '', message: `body has ${bytes} bytes` };
}

function* fitsWindow({ body }: RequestView, context: StrictContext): Iterable<Finding> {
  if (context.windowTokens === undefined) return;
  const tokens = tokensOfRequest(editContext(body).body);
  if (tokens <= context.windowTokens) return;
  // Word by word what the API says: clients know it by its text alone.
  const message = `prompt is too long: ${tokens} tokens > ${context.windowTokens} maximum`;
  yield { path: '', message };
}

const THINKING_TOKENS_MIN = 1_024;

function* knownFields({ body }: RequestView, { betas }: StrictContext): Iterable<Finding> {
  const { model, max_tokens: cap, messages, thinking } = body;
  if (typeof model !== 'string' || model === '') yield { path: 'model', message: 'is missing' };
  if (typeof cap !== 'number' || !Number.isInteger(cap) || cap < 1) {
    yield { path: 'max_tokens', message: `${JSON.stringify(cap)} is no count of tokens` };
  }
  if (!Array.isArray(messages)) yield { path: 'messages', message: 'is no list' };
  if (body.context_management !== undefined && betas?.includes(CONTEXT_EDITING_BETA) === false) {
    yield { path: 'context_management', message: 'Extra inputs are not permitted' };
  }
  if (!isRecord(thinking) || thinking.type !== 'enabled') return;
  const budget = Number(thinking.budget_tokens);
  const path = 'thinking.budget_tokens';
  if (!(budget >= THINKING_TOKENS_MIN)) {
    yield { path, message: `${budget} is below ${THINKING_TOKENS_MIN}` };
  }
  if (typeof cap === 'number' && budget >= cap) {
    yield { path, message: `${budget} is not below max_tokens ${cap}` };
  }
}

const rules: Record<RuleId, readonly [string, StrictRule['check']]> = {
  S1: ['every tool_use has exactly one tool_result in the next message', answersToCalls],
  S2: ['every tool_result is for a tool_use of the message before it', callsOfAnswers],
  S3: ['ids of calls are unique and made of a-zA-Z0-9_-, inputs are objects', soundCalls],
  S4: ['no text is empty or only white space', textNotBlank],
  S5: ['no message has empty content', contentNotEmpty],
  S6: ['the first message is of the user, the last never of the assistant', roles],
  S7: ['tool_results come before all other blocks of their message', resultsFirst],
  S8: ['thinking goes back unchanged, in its order, to the model that made it', thinkingUnchanged],
  S9: ['at most 4 cache marks, none on thinking', cacheMarks],
  S10: ['the body is valid UTF-8 JSON without lone surrogates', wellFormed],
  S11: ['tool names are unique and sound, schemas are plain objects', soundTools],
  S12: ['images are what they say and within size and number', soundImages],
  S13: ['at most 100 pages of PDF', pdfLength],
  S14: ['the body has at most 32 MiB', bodySize],
  S15: ['the request fits the window', fitsWindow],
  SX: ['model, max_tokens, messages and thinking are sound', knownFields],
};

/** All rules, in the order of their ids. */
export const STRICT_RULES: readonly StrictRule[] = RULE_IDS.map((id) => {
  const [sentence, check] = rules[id];
  return { id, sentence, check };
});

/**
 * Every rule that a request breaks, in the order of the rules. Empty: the API would take it.
 *
 * @example
 * expect(checkRequest(body)).toEqual([]);
 */
export function checkRequest(body: RequestBody, context: StrictContext = {}): Violation[] {
  const view = requestView(body);
  // The API looks no further into a body that is too large.
  const tooLarge = [...bodySize(view, context)];
  if (tooLarge.length > 0) return tooLarge.map((finding) => ({ rule: 'S14', ...finding }));
  return STRICT_RULES.flatMap(({ id, check }) =>
    [...check(view, context)].map((finding) => ({ rule: id, ...finding })),
  );
}

/** A violation in one line: `S1 messages.1.content.0: …`. */
export const violationLine = ({ rule, path, message }: Violation): string =>
  `${rule}${path === '' ? '' : ` ${path}`}: ${message}`;
