/** The demo's script against the demo's project, with tools that really do what is asked. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeDemoProject } from '../../../src/testing/demo-project.ts';
import { demoPrompt, demoScript } from '../../../src/testing/demo-script.ts';
import { type ScriptedServer, startScriptedServer } from '../../../src/testing/index.ts';
import { ask, assistant, BASE, eventsOf, user } from './client.ts';

type Block = Record<string, unknown> & { type: string };
type Input = Record<string, string>;

let folder: string;
let server: ScriptedServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-'));
  await writeDemoProject(join(folder, 'project'));
  server = await startScriptedServer(demoScript(join(folder, 'project')));
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function run(command: string): Promise<string> {
  const cwd = join(folder, 'project');
  // Under a test runner of its own, node --test would report to that one.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', command], { cwd, env }, (_error, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}

async function runTool(name: string, input: Input): Promise<string> {
  if (name === 'Bash') return run(input.command ?? '');
  const path = input.file_path ?? '';
  const before = await readFile(path, 'utf8');
  if (name === 'Read') return before;
  const [found, more] = before.split(input.old_string ?? '');
  expect([name, found === undefined || more === undefined]).toEqual(['Edit', false]);
  await writeFile(path, `${found}${input.new_string}${more}`);
  return 'edited';
}

/** A loop in a few lines. Returns the names of the calls of each answer, and the last words. */
async function play(tool: typeof runTool) {
  const messages = [user(demoPrompt)];
  const rounds: string[][] = [];
  for (let request = 0; request < 8; request++) {
    const { status, body } = await ask(server.url, { ...BASE, stream: false, messages });
    if (status === 529) {
      rounds.push(['529']);
      continue;
    }
    const { content } = JSON.parse(body) as { content: Block[] };
    const calls = content.filter(({ type }) => type === 'tool_use');
    if (calls.length === 0) return { rounds, words: String(content.at(-1)?.text) };
    rounds.push(calls.map(({ name }) => String(name)));
    messages.push(assistant(content));
    const results: unknown[] = [];
    for (const { id, name, input } of calls) {
      const text = await tool(String(name), input as Input);
      results.push({ type: 'tool_result', tool_use_id: id, content: text });
    }
    messages.push(user(results));
  }
  throw new Error('the demo does not end');
}

test('the project fails before and passes after; the last word says who spoke', async () => {
  const before = await run('node --test');
  expect(before).toMatch(/fail 1$/m);
  expect(before).toContain('median of response times');
  const { rounds, words } = await play(runTool);
  expect(rounds).toEqual([['529'], ['Read', 'Read'], ['Edit'], ['Bash']]);
  expect(words).toMatch(/^Fixed\./);
  expect(words).toContain('script');
  expect(await run('node --test')).toMatch(/fail 0$/m);
  expect(server.violations).toEqual([]);
  expect(server.repliesLeft).toBe(0);
});

test('it claims nothing that the test run does not show', async () => {
  const { words } = await play(async (name, input) =>
    name === 'Edit' ? 'edited' : runTool(name, input),
  );
  expect(words).toContain('I do not claim that it is fixed');
});

test('it streams in small pieces', async () => {
  await ask(server.url, { ...BASE, messages: [user(demoPrompt)] });
  const { body } = await ask(server.url, { ...BASE, messages: [user(demoPrompt)] });
  const lengths = eventsOf(body).map(
    ({ data }) => (data.delta as { text?: string } | undefined)?.text?.length ?? 0,
  );
  expect(Math.max(...lengths)).toBeLessThan(12);
  expect(lengths.filter((length) => length > 0).length).toBeGreaterThan(10);
});
