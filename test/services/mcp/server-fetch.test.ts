/** Answers over HTTP: what never ends is given up, what goes on for days is not. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { serverFetch } from '../../../services/mcp/server-fetch.ts';
import { serverFor } from './kit.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const serving = async (answer: (response: ServerResponse) => void) => {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
};

const endless = (piece: string, type: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': type });
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
};

it('an answer that never ends its line is given up at its bound, and the connection with it', async () => {
  let isClosed = false;
  const url = await serving((response) => {
    response.on('close', () => {
      isClosed = true;
    });
    endless('x'.repeat(10_000), 'application/json')(response);
  });
  const reach = serverFetch({ type: 'http', url, headers: {} }, undefined, 100_000);
  const response = await reach(url);
  await expect(response.text()).rejects.toThrow('more than 100000 bytes is not taken');
  await expect.poll(() => isClosed).toBe(true);
});

it('a stream of many lines is not', async () => {
  const line = `data: ${'x'.repeat(900)}\n\n`;
  const url = await serving((response) => response.end(line.repeat(1_000)));
  const reach = serverFetch({ type: 'http', url, headers: {} }, undefined, 1_000);
  expect(await (await reach(url)).text()).toHaveLength(line.length * 1_000);
});

it.each(['application/json', 'text/event-stream'])(
  'a server that answers the handshake with %s for ever is hung up on, and fills no memory',
  async (type) => {
    let isClosed = false;
    const url = await serving((response) => {
      response.on('close', () => {
        isClosed = true;
      });
      endless('x'.repeat(1 << 20), type)(response);
    });
    const { server } = serverFor({ type: 'http', url, headers: {} }, { waitMs: 100 });
    await server.connect();
    await expect.poll(() => isClosed, { timeout: 15_000 }).toBe(true);
    expect(server.status).not.toBe('connected');
  },
);
