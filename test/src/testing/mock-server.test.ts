/** The command as a function, and the files that it writes. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runMockServer } from '../../../src/cli/mock-server.ts';
import { ask, hello, textOf, user } from './client.ts';

let folder: string;
let ending: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mock-server-'));
  ending = new AbortController();
});
afterEach(async () => {
  ending.abort();
  await rm(folder, { recursive: true });
});

function start(argv: readonly string[]) {
  const told = { stdout: '', stderr: '' };
  const io = {
    stdout: { write: (text: string) => (told.stdout += text) },
    stderr: { write: (text: string) => (told.stderr += text) },
    env: {},
    signal: ending.signal,
  };
  return { told, exit: runMockServer(argv, io) };
}

async function scriptFile(text: string): Promise<string> {
  const path = join(folder, 'script.json');
  await writeFile(path, text);
  return path;
}

async function urlOf(told: { readonly stdout: string }): Promise<string> {
  await expect.poll(() => told.stdout).toContain('\n');
  return told.stdout.split(/\s/)[0] ?? '';
}

test('prints its URL first, a line for each request, and ends cleanly', async () => {
  const path = await scriptFile('{"replies": ["hi", {"kind": "cut"}]}');
  const { told, exit } = start([path]);
  const url = await urlOf(told);
  expect(told.stdout).toBe(`${url}\n`);
  expect(textOf((await ask(url, hello())).body)).toBe('hi');
  await ask(url, hello({ messages: [user('')] }), { purpose: 'compact' });
  await ask(url, hello()).catch(() => {});
  await ask(url, hello(), { path: '/v1/messages/count_tokens' });
  await expect.poll(() => told.stderr).toContain('count_tokens');
  ending.abort();
  expect(await exit).toBe(0);
  expect(told.stderr.trimEnd().split('\n')).toEqual([
    `ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=any <your client>`,
    '#0 loop claude-test, 1 messages, 0 tools → 200 text',
    '#1 compact claude-test, 1 messages, 0 tools → 400 refused',
    '  broken: S4 messages.0.content.0: text is empty or white space',
    '#2 loop claude-test, 1 messages, 0 tools → cut before headers',
    '#3 POST /v1/messages/count_tokens',
    '1 messages sent, 1 rules broken, 0 replies left, prompt cache 100 % of ideal',
  ]);
  await expect(ask(url, hello())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('--record appends requests without keys to a file of mode 0600', async () => {
  const path = await scriptFile('{"replies": ["a", "b"]}');
  const record = join(folder, 'requests.jsonl');
  await writeFile(record, '', { mode: 0o644 });
  const { told, exit } = start([path, '--record', record, '--port', '0']);
  const url = await urlOf(told);
  await ask(url, hello());
  await ask(url, hello({ messages: [user('second\nline')] }), { purpose: 'compact' });
  ending.abort();
  expect(await exit).toBe(0);
  const text = await readFile(record, 'utf8');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toMatchObject([
    { sequence: 0, purpose: 'loop', body: hello() },
    { sequence: 1, purpose: 'compact', body: { messages: [user('second\nline')] } },
  ]);
  expect(text).not.toContain('secret-key');
  expect((await stat(record)).mode & 0o777).toBe(0o600);
});

test('--no-strict answers what --strict refuses', async () => {
  const path = await scriptFile('{"replies": ["a"]}');
  const { told } = start(['--no-strict', path]);
  expect((await ask(await urlOf(told), hello({ messages: [] }))).status).toBe(200);
});

test('--strict is stronger than the script', async () => {
  const path = await scriptFile('{"strict": false}');
  const { told } = start(['--strict', path]);
  expect((await ask(await urlOf(told), hello({ messages: [] }))).status).toBe(400);
});

test('a script with mistakes: exit 2, with file, place and remedy', async () => {
  const path = await scriptFile('{"replies": [{"kind": "mesage"}]}');
  const { told, exit } = start([path]);
  expect(await exit).toBe(2);
  expect(told).toEqual({
    stdout: '',
    stderr: `${path}: $.replies[0].kind: "mesage" is none of the kinds there are; write one of "message", "error", "cut", "silent", "raw"\n`,
  });
});

test.each([
  [[], 'say which script to play'],
  [['a.json', 'b.json'], 'one script at a time'],
  [['a.json', '--port', '70000'], '--port 70000 is no port'],
  [['a.json', '--strict', '--no-strict'], 'either --strict or --no-strict'],
  [['a.json', '--nonsense'], '--nonsense'],
  [['/nonexistent/a.json'], '/nonexistent/a.json: ENOENT'],
])('wrong usage %j: exit 2', async (argv, expected) => {
  const { told, exit } = start(argv);
  expect(await exit).toBe(2);
  expect(told.stderr).toContain(expected);
});

test('a port or a record file that cannot be had: exit 1', async () => {
  const path = await scriptFile('{}');
  const first = start([path]);
  const port = new URL(await urlOf(first.told)).port;
  const second = start([path, '--port', port]);
  expect(await second.exit).toBe(1);
  expect(second.told.stderr).toContain('EADDRINUSE');
  const third = start([path, '--record', join(folder, 'no', 'such', 'folder')]);
  expect(await third.exit).toBe(1);
});

test('--help and --schema', async () => {
  const help = start(['--help']);
  expect(await help.exit).toBe(0);
  expect(help.told.stdout).toContain('--record <file>');
  const schema = start(['--schema']);
  expect(await schema.exit).toBe(0);
  expect(JSON.parse(schema.told.stdout)).toMatchObject({ type: 'object' });
});
