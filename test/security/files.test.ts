/** What tools find by themselves, and what happens between a judgement and an opening. */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callTool, callTools, say } from '../../src/testing/index.ts';
import { type Told, tell } from '../tools/story.ts';

const secret = 'tell-nobody';
const ground = ({ cwd }: { cwd: string }) => {
  mkdirSync(join(cwd, 'secret'));
  mkdirSync(join(cwd, 'sub'));
  writeFileSync(join(cwd, 'secret/key.txt'), `${secret}\n`);
  writeFileSync(join(cwd, 'open.txt'), 'tell-everybody\n');
  writeFileSync(join(cwd, '.env'), `A=${secret}\n`);
  symlinkSync(join(cwd, 'secret'), join(cwd, 'way'));
};
/** The last message of a request, as text. */
const resultsIn = (told: Told, index: number): string => {
  const messages = told.requests[index]?.body.messages;
  return JSON.stringify(Array.isArray(messages) ? messages.at(-1) : '');
};
const guarded = {
  permissionMode: 'default',
  allowDangerouslySkipPermissions: false,
  settings: { permissions: { deny: ['Read(./secret/**)', 'Read(.env)'] } },
} as const;

describe('PERM-10 a search above a file that is denied', () => {
  it.each(['content', 'files_with_matches', 'count'])(
    'Grep (%s) shows the others',
    async (mode) => {
      const told = await tell({
        script: {
          replies: [
            callTools([
              ['Grep', { pattern: 'tell-', output_mode: mode }],
              ['Grep', { pattern: 'tell-', path: 'way', output_mode: mode }],
            ]),
            say('ok'),
          ],
        },
        options: guarded,
        prepare: ground,
      });
      const results = resultsIn(told, 1);
      expect(results).toContain('open.txt');
      expect(results).not.toMatch(/tell-nobody|key\.txt|\.env/);
    },
  );

  it('Glob does not list it', async () => {
    const told = await tell({
      script: {
        replies: [
          callTools([
            ['Glob', { pattern: '**/*' }],
            ['Glob', { pattern: '*', path: 'way' }],
          ]),
          say('ok'),
        ],
      },
      options: guarded,
      prepare: ground,
    });
    const results = resultsIn(told, 1);
    expect(results).toContain('open.txt');
    expect(results).not.toMatch(/key\.txt|\.env/);
  });
});

describe('a shell that has moved', () => {
  it("takes neither the rules nor the session's folder with it", async () => {
    const told = await tell({
      script: {
        replies: [
          callTool('Bash', { command: 'cd sub' }),
          callTools([
            ['Read', { file_path: '../.env' }],
            ['Read', { file_path: '../open.txt' }],
            ['Bash', { command: 'cd /' }],
          ]),
          callTool('Read', { file_path: '/etc/hostname' }),
          say('ok'),
        ],
      },
      options: {
        ...guarded,
        settings: { permissions: { deny: ['Read(./.env)'], allow: ['Bash(cd:*)'] } },
      },
      prepare: ground,
      except: ['script'],
    });
    const second = resultsIn(told, 2);
    expect(second).not.toContain(secret);
    expect(second).toContain('tell-everybody');
    // `cd /` was allowed by a rule; the disk is not opened by it.
    expect(told.last.permission_denials.map((one) => one.tool_input)).toContainEqual({
      file_path: '/etc/hostname',
    });
  });
});

describe('PERM-10 a link that is swapped while it is read', () => {
  it('never shows what is denied, a thousand times', async () => {
    const reads = Array.from({ length: 200 }, () => ['Read', { file_path: 'swap' }] as const);
    let isOver = false;
    const told = await tell({
      script: {
        replies: [...Array.from({ length: 5 }, () => callTools(reads)), say('ok')],
      },
      options: { ...guarded, maxTurns: 20 },
      prepare: (place) => {
        ground(place);
        symlinkSync(join(place.cwd, 'open.txt'), join(place.cwd, 'swap'));
      },
      begin: (_, { cwd }) => {
        let turn = 0;
        const swap = () => {
          if (isOver) return;
          turn += 1;
          const to = turn % 2 === 0 ? 'open.txt' : 'secret/key.txt';
          symlinkSync(join(cwd, to), join(cwd, 'next'));
          renameSync(join(cwd, 'next'), join(cwd, 'swap'));
          setTimeout(swap, 1);
        };
        swap();
      },
      after: () => {
        isOver = true;
      },
    });
    expect(told.requests).toHaveLength(6);
    const all = JSON.stringify(told.requests.at(-1)?.body);
    expect(all.includes(secret)).toBe(false);
    expect(all).toContain('tell-everybody'); // and it was read when the link led there
  }, 60_000); // a thousand reads, which a busy machine takes its time for
});
