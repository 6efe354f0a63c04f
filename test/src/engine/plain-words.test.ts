/** What goes wrong with a call is said in words that its reader can act on, not in ours. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { type Story, tell } from '../../tools/story.ts';

const calling = (name: string, input: object, more: Partial<Story> = {}) =>
  tell({
    script: { replies: [callTool(name, { ...input }), say('ok')] },
    ...more,
  });
const resultIn = (lines: readonly string[]) => lines.find((line) => line.startsWith('result'));

it('a command with a NUL', async () => {
  const told = await calling('Bash', { command: 'echo a\0b' });
  expect(resultIn(told.lines)).toMatch(
    /^result \(error\) "The command was not run: it contains a NUL/,
  );
});

it('a path that is too long', async () => {
  const told = await calling('Write', { file_path: `${'x'.repeat(300)}.txt`, content: 'a' });
  expect(resultIn(told.lines)).toMatch(/^result \(error\) ".*The path is too long: /);
});

it('an input that is nested too deeply', async () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
  const told = await calling(
    'Look',
    { deep: deep(1_000) },
    {
      config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
    },
  );
  expect(resultIn(told.lines)).toMatch(/\(the input is nested deeper than 200 levels\)/);
});

it('half of a character: nothing is written in its place', async () => {
  let made: readonly string[] = [];
  const told = await calling(
    'Write',
    { file_path: 'a.txt', content: 'a\ud800' },
    {
      check: ({ cwd }) => {
        made = existsSync(join(cwd, 'a.txt')) ? readdirSync(cwd) : [];
      },
    },
  );
  expect(resultIn(told.lines)).toMatch(/^result \(error\) ".*the input has half of a character/);
  expect(made).toEqual([]);
});

it.each([
  [undefined, /canUseTool\) gave undefined, which is no answer: give/],
  [null, /canUseTool\) gave null, which is no answer/],
  ['yes', /the answer of canUseTool is no object: give/],
  [{ behavior: 'sure' }, /"behavior\\" is \\"sure\\": give/],
])('canUseTool answers %j: denied, and it says why', async (answer, words) => {
  let runs = 0;
  const told = await calling(
    'Look',
    {},
    {
      options: { permissionMode: 'default', canUseTool: (async () => answer) as never },
      config: () => ({
        tools: [
          hostTool(
            'Look',
            () => {
              runs += 1;
              return 'seen';
            },
            { touches: () => ({ kind: 'unknown' }) },
          ),
        ],
      }),
    },
  );
  expect(runs).toBe(0);
  expect(resultIn(told.lines)).toMatch(/^result \(error\) "Tool permission request failed: /);
  expect(resultIn(told.lines)).toMatch(words);
});
