/** Calls of one answer that change the same file, under several of its names. */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callTool, message, say, toolUse } from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';

const lines = Array.from({ length: 100 }, (_, i) => String(i + 1));
const wanted = [10, 20, 30, 40, 50, 60];

it('TOOL-03 six edits of one file in one answer are all in the file', async () => {
  const names = ['n.txt', './n.txt', 'link.txt', 'n.txt', './n.txt', 'link.txt'];
  await tell({
    prepare: ({ cwd }) => {
      writeFileSync(join(cwd, 'n.txt'), `${lines.join('\n')}\n`);
      symlinkSync(join(cwd, 'n.txt'), join(cwd, 'link.txt'));
    },
    script: ({ cwd }) => ({
      replies: [
        callTool('Read', { file_path: join(cwd, 'n.txt') }),
        message(
          wanted.map((line, i) =>
            toolUse('Edit', {
              file_path: `${cwd}/${names[i]}`,
              old_string: `\n${line}\n`,
              new_string: `\nX${i + 1}\n`,
            }),
          ),
        ),
        say('ok'),
      ],
    }),
    check: ({ cwd, lines: said, last }) => {
      const now = readFileSync(join(cwd, 'n.txt'), 'utf8').trimEnd().split('\n');
      const changed = now.filter((line) => line.startsWith('X'));
      expect(said.filter((line) => line.startsWith('result (error)'))).toEqual([]);
      expect(changed).toEqual(['X1', 'X2', 'X3', 'X4', 'X5', 'X6']);
      expect(now).toHaveLength(lines.length);
      expect(last.terminal_reason).toBe('completed');
    },
  });
});
