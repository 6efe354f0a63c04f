/** A server on loopback that sends exactly the bytes it is told to, as slowly as it is told to. */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Bytes, a pause, or the way in which it breaks. `stall`: open and silent. */
export type Step = string | { readonly waitMs: number } | 'cut' | 'stall';
export type Reply = {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly headDelayMs?: number;
  readonly steps: readonly Step[];
};
export interface Received {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** The client hung up before the answer was whole. */
  isHungUp: boolean;
  /** Steps that were written. */
  written: number;
}

export interface SseServer {
  readonly url: string;
  readonly received: Received[];
}

/** Answers the n-th request with the n-th reply; the last one again and again. Closed by itself. */
export async function serve(...replies: readonly Reply[]): Promise<SseServer> {
  const received: Received[] = [];
  const server = http.createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      const entry = {
        headers: request.headers,
        body: JSON.parse(text || '{}') as Record<string, unknown>,
        isHungUp: false,
        written: 0,
      };
      const reply = replies[Math.min(received.length, replies.length - 1)];
      received.push(entry);
      response.on('close', () => {
        entry.isHungUp = !response.writableFinished;
      });
      if (reply) void send(reply, response, entry);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received };
}

async function send(reply: Reply, response: http.ServerResponse, entry: Received): Promise<void> {
  await pause(reply.headDelayMs ?? 0);
  response.writeHead(reply.status ?? 200, {
    'content-type': 'text/event-stream',
    ...reply.headers,
  });
  response.flushHeaders();
  for (const step of reply.steps) {
    if (response.destroyed || step === 'stall') return;
    if (step === 'cut') {
      // What was written before must arrive first.
      await pause(20);
      response.socket?.destroy();
      return;
    }
    if (typeof step === 'object') await pause(step.waitMs);
    else if (!response.write(step)) await drained(response);
    entry.written += 1;
  }
  response.end();
}

const pause = (ms: number) =>
  ms > 0 ? new Promise<void>((resolve) => setTimeout(resolve, ms)) : undefined;
const drained = (response: http.ServerResponse) =>
  new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });

/** One event of a stream, as text. */
export const sse = (type: string, data: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
export const start = (usage: unknown = { input_tokens: 10, output_tokens: 1 }, id = 'msg_1') =>
  sse('message_start', {
    message: { id, type: 'message', role: 'assistant', model: 'm', content: [], usage },
  });
export const begin = (index: number, content_block: object) =>
  sse('content_block_start', { index, content_block });
export const delta = (index: number, given: object) =>
  sse('content_block_delta', { index, delta: given });
export const stop = (index: number) => sse('content_block_stop', { index });
export const end = (stop_reason: unknown = 'end_turn', usage: unknown = { output_tokens: 5 }) =>
  sse('message_delta', { delta: { stop_reason, stop_sequence: null }, usage }) +
  sse('message_stop');
export const text = (index: number, ...parts: readonly string[]) =>
  begin(index, { type: 'text', text: '' }) +
  parts.map((part) => delta(index, { type: 'text_delta', text: part })).join('') +
  stop(index);
export const call = (index: number, id: unknown, ...json: readonly string[]) =>
  openCall(index, id, ...json) + stop(index);
export const openCall = (index: number, id: unknown, ...json: readonly string[]) =>
  begin(index, { type: 'tool_use', id, name: 'Bash', input: {} }) +
  json.map((part) => delta(index, { type: 'input_json_delta', partial_json: part })).join('');
export const ping = sse('ping');

/** A recorded stream of `test/fixtures`. */
export const fixture = (name: string): Reply => ({
  steps: [readFileSync(new URL(`../../fixtures/${name}.sse`, import.meta.url), 'utf8')],
});
export const stream = (...steps: readonly Step[]): Reply => ({ steps });
/** An answer that is an error. */
export const refuse = (
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): Reply => ({
  status,
  headers: { 'content-type': 'application/json', 'request-id': 'req_1', ...headers },
  steps: [JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' })],
});
