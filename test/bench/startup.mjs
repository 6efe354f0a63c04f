/**
 * From the start of the process to the first request: `node dist/cli.mjs -p` against the least that
 * anything on the official API client can take (import it, send one request).
 *
 *   npm run build && node test/bench/startup.mjs [rounds]
 *
 * The rounds alternate, so that a busy machine slows both sides; medians are compared.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROUNDS = Number(process.argv[2] ?? 15);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** One short answer to everything, as the API streams it. */
const events = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];
const answer = events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join('');

let onRequest = () => {};
const server = createServer((request, response) => {
  onRequest(performance.now());
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;
const home = mkdtempSync(path.join(tmpdir(), 'escapement-bench-'));

const client = `
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ maxRetries: 0 });
  const stream = await client.messages.create({ model: 'claude-sonnet-5-5', max_tokens: 100,
    stream: true, messages: [{ role: 'user', content: 'hi' }] });
  for await (const event of stream) void event;
`;
const sides = {
  client: ['--input-type=module', '-e', client],
  escapement: [path.join(root, 'dist', 'cli.mjs'), '-p', 'hi', '--model=claude-sonnet-5-5'],
};

/** Milliseconds from spawn to the first request, and to the end of the process. */
async function measure(args) {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    ESCAPEMENT_HOME: home,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'dummy',
  };
  const requested = new Promise((resolve) => {
    onRequest = resolve;
  });
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  const ended = once(child, 'close');
  const requestAt = await Promise.race([requested, ended.then(() => Number.NaN)]);
  const [code] = await ended;
  if (code !== 0 || Number.isNaN(requestAt)) throw new Error(`exit code ${code}`);
  return { first: requestAt - startedAt, end: performance.now() - startedAt };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const seen = Object.fromEntries(Object.keys(sides).map((name) => [name, []]));
for (let round = 0; round <= ROUNDS; round++) {
  for (const [name, args] of Object.entries(sides)) {
    const times = await measure(args);
    if (round > 0) seen[name].push(times); // the first round fills the file cache
  }
}
server.close();
rmSync(home, { recursive: true, force: true });

const figures = Object.fromEntries(
  Object.entries(seen).map(([name, times]) => [
    name,
    {
      firstRequestMs: Math.round(median(times.map(({ first }) => first))),
      endMs: Math.round(median(times.map(({ end }) => end))),
    },
  ]),
);
console.table(figures);
const ratio = figures.escapement.firstRequestMs / figures.client.firstRequestMs;
console.log(`first request, escapement / client: ${ratio.toFixed(2)} (aim: below 1)`);
