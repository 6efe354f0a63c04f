/** One HTTP exchange of the scripted server: reading the request, answering in the API's shape. */
import type { IncomingMessage } from 'node:http';
import type { Outlet } from './outlet.ts';
import { isRequestBody, type RequestBody } from './received-request.ts';
import type { ApiError } from './script.ts';

/** Above rule S14, so that the rule answers and not the transport. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/** One HTTP exchange while it is answered. */
export interface Exchange {
  readonly outlet: Outlet;
  readonly signal: AbortSignal;
  /** Sequence number; also in the `request-id` header. */
  readonly sequence: number;
  /** We break the connection: that it closes is then no news. */
  isCut: boolean;
}

/** The whole body; `too_long`; `gone`: the client went before it was through. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer | 'too_long' | 'gone'> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
    }
  } catch {
    return 'gone';
  }
  return length <= BODY_BYTES_MAX ? Buffer.concat(chunks) : 'too_long';
}

/** The body as JSON; `undefined` for anything but an object in valid UTF-8. */
export function parsedBody(bytes: Buffer): RequestBody | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const body: unknown = JSON.parse(text);
    return isRequestBody(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** The header by which the API names a request. */
export const requestId = (sequence: number) => ({ 'request-id': `req_scripted_${sequence}` });

/** Answers with JSON. */
export function sendJson(
  { outlet, sequence }: Exchange,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const fields = { 'content-type': 'application/json', ...requestId(sequence), ...headers };
  outlet.begin(status, fields);
  outlet.end(JSON.stringify(value));
}

/** Answers with the API's error body. */
export function sendError(
  exchange: Exchange,
  status: number,
  error: ApiError,
  headers: Readonly<Record<string, string>> = {},
): void {
  const id = requestId(exchange.sequence)['request-id'];
  sendJson(exchange, status, { type: 'error', error, request_id: id }, headers);
}
