/**
 * Every transition of the chart is taken by the real engine: each generated path is walked over
 * HTTP against the scripted server, with real tools, files and hooks, and the chart's own steps are
 * compared one by one. `npm run paths:update` writes the list of paths anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { reasons } from '../conformance/chart.ts';
import { generatePaths } from './generate.ts';
import { goldenFile, goldenOf } from './golden.ts';
import { checkPayloads } from './oracles.ts';
import { walk } from './walk.ts';

const generated = generatePaths();
const { paths } = generated;

describe('MACH-08 paths through the chart', () => {
  it('leave no transition out', () => {
    expect(generated.unreachable).toEqual([]);
    const taken = new Set(paths.flatMap(({ transitions }) => transitions));
    expect(generated.transitions.filter((id) => !taken.has(id))).toEqual([]);
  });
  it('have every reason between them', () => {
    const golden = goldenOf(generated);
    expect(reasons.filter((reason) => !new RegExp(`[⇒,] ${reason}\\b`).test(golden))).toEqual([]);
  });
  it('are those that were reviewed', () => {
    const golden = goldenOf(generated);
    if (process.env.ESCAPEMENT_UPDATE_PATHS === '1') writeFileSync(goldenFile, golden);
    expect(golden).toBe(readFileSync(goldenFile, 'utf8'));
  });
});

describe('walked by the real engine', () => {
  it.each(paths.map((path) => [`${path.world.name} / ${path.title}`, path] as const))(
    '%s',
    async (_, path) => {
      const walked = await walk(path);
      expect(walked.taken).toEqual(path.transitions);
      expect(walked.leftOver).toEqual([]);
      expect(walked.told.last.terminal_reason).toBe(path.reason);
      checkPayloads(path, walked);
    },
  );
});
