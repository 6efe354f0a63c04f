/** A request as the server got it, and questions that scripts and tests ask about it. */
import { isRecord } from '../../services/is-record.ts';
import { type JsonObject, recordsIn } from './json.ts';
import type { Purpose } from './script.ts';

/** Body of a request. Not validated: with `strict: false` anything may stand in it. */
export interface RequestBody {
  readonly model?: unknown;
  readonly max_tokens?: unknown;
  readonly messages?: unknown;
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly stream?: unknown;
  readonly thinking?: unknown;
  readonly [field: string]: unknown;
}

/** One request to `/v1/messages`. Keys (`x-api-key`, `authorization`, cookies) are not in it. */
export interface ReceivedRequest {
  /** Order of arrival at this server, from 0. */
  readonly sequence: number;
  readonly purpose: Purpose;
  /** Number among the requests of its purpose, from 0; refused requests do not count. */
  readonly n: number;
  /** Milliseconds since the server was made. */
  readonly atMs: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Did it carry a key of any kind? */
  readonly hasKey: boolean;
  readonly body: RequestBody;
  /** Length of the body. */
  readonly bytes: number;
}

/** Headers that are never kept: they hold secrets. */
const SECRET_HEADERS = new Set(['x-api-key', 'authorization', 'proxy-authorization', 'cookie']);

/** Headers without those that hold secrets. */
export function headersWithoutKeys(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || SECRET_HEADERS.has(name.toLowerCase())) continue;
    kept[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return kept;
}

/** Blocks of a message or of the system prompt; a string is one text block. */
export function blocksOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return recordsIn(content);
}

const messagesOf = (body: RequestBody): JsonObject[] => recordsIn(body.messages);
const textOf = (block: JsonObject | undefined): string =>
  typeof block?.text === 'string' ? block.text : '';
const textsOf = (content: unknown): string[] =>
  blocksOf(content)
    .filter((block) => block.type === 'text')
    .map(textOf);

/** Text of the last text block of the last message, or `''`. */
export function lastText(request: Pick<ReceivedRequest, 'body'>): string {
  return textsOf(messagesOf(request.body).at(-1)?.content).at(-1) ?? '';
}

/** All text of the first message that the user said. */
export function firstText(request: Pick<ReceivedRequest, 'body'>): string {
  const first = messagesOf(request.body).find((message) => message.role === 'user');
  return textsOf(first?.content).join('\n');
}

/** All text of the system prompt. */
export function systemText(request: Pick<ReceivedRequest, 'body'>): string {
  return textsOf(request.body.system).join('\n');
}

/** A tool's answer, as the model reads it. */
export interface ToolResultView {
  readonly toolUseId: string;
  readonly text: string;
  readonly isError: boolean;
}

/** The tool results of the last message, in their order. */
export function toolResults(request: Pick<ReceivedRequest, 'body'>): ToolResultView[] {
  const results: ToolResultView[] = [];
  for (const block of blocksOf(messagesOf(request.body).at(-1)?.content)) {
    if (block.type !== 'tool_result') continue;
    results.push({
      toolUseId: String(block.tool_use_id),
      text: textsOf(block.content).join('\n'),
      isError: block.is_error === true,
    });
  }
  return results;
}

/** Names of the tools that the request offers. */
export function toolNames(request: Pick<ReceivedRequest, 'body'>): string[] {
  return recordsIn(request.body.tools)
    .map((tool) => tool.name)
    .filter((name) => typeof name === 'string');
}

/** A body is an object; anything else that is JSON is not a request. */
export const isRequestBody = (value: unknown): value is RequestBody => isRecord(value);
