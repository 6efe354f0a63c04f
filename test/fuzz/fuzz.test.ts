/**
 * Some walks of the fault walk, and each that has failed once (`test/fuzz-regressions`). More:
 * `npm run fuzz -- --seed N --runs K`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { silent } from '../../src/testing/replies.ts';
import { drawWalk } from './draw.ts';
import { playWalk } from './play.ts';
import type { Walk } from './walk.ts';

const SEED = 1;
const WALKS = 12;
/** Above what a walk may take on a busy machine: one that hangs says so itself, sooner. */
const WALK_MS = 4 * 60_000;
/** Below the deadline of a request. */
const HANGS_MS = 300;

describe.concurrent('walks', () => {
  it.each(Array.from({ length: WALKS }, (_, number) => number))(
    'number %i',
    async (number) => {
      const { problems } = await playWalk(drawWalk(SEED, number));
      expect(problems).toEqual([]);
    },
    WALK_MS,
  );
  it('that hang are a problem, and are not waited for', async () => {
    const replies = [silent({ times: 'always' })];
    const turns = [{ prompt: 'do it', acts: [] }];
    const { problems } = await playWalk({ replies, settings: {}, hooks: [], turns }, HANGS_MS);
    expect(problems.map(({ name }) => name)).toContain('hang');
  });
  it('are the same for the same seed', () => {
    expect(drawWalk(3, 4)).toEqual(drawWalk(3, 4));
    expect(drawWalk(3, 4)).not.toEqual(drawWalk(3, 5));
    // What is stored is what was walked.
    expect(JSON.parse(JSON.stringify(drawWalk(3, 4)))).toEqual(drawWalk(3, 4));
  });
});

const folder = new URL('../fuzz-regressions/', import.meta.url);
const regressions = existsSync(folder)
  ? readdirSync(folder).filter((name) => name.endsWith('.json'))
  : [];

describe.concurrent('what has failed once', () => {
  it.each(regressions)(
    '%s',
    async (name) => {
      const walk = JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Walk;
      const { problems } = await playWalk(walk);
      expect(problems).toEqual([]);
    },
    WALK_MS,
  );
});
