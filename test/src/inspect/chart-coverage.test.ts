/**
 * What the tests take of the chart is counted: by engines in their own process, and by CLI
 * processes that they start.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AnyStateNode } from 'xstate';
import { queryMachine } from '../../../machines/query.machine.ts';
import { chartOf, edgeIdOf } from '../../../src/inspect/chart-of.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import {
  beginCoverage,
  type CoveragePart,
  edgeId,
  endCoverage,
  partsFolder,
} from '../../tools/chart-coverage.ts';
import { openCliBox } from '../../tools/cli.ts';
import { coverageTable, merged, neverTaken } from '../../tools/coverage-report.ts';
import { tell } from '../../tools/story.ts';

const here = import.meta.filename;
const name = 'test-src-inspect-chart-coverage.test.ts.';
const partsOfThis = (): readonly CoveragePart[] => {
  endCoverage();
  const files = readdirSync(partsFolder).filter((file) => file.startsWith(name));
  return files.map((file) => JSON.parse(readFileSync(path.join(partsFolder, file), 'utf8')));
};
const completed = 'query.stopHooks.satisfied||0';
const nextTurn = 'query.toolRun.answered||2';

describe('counting', () => {
  it('an engine of the test', async () => {
    beginCoverage(here);
    await tell({ script: { replies: [callTool('Read', { file_path: 'a' }), say('done')] } });
    const [part] = partsOfThis();
    expect(part?.test).toBe('test/src/inspect/chart-coverage.test.ts');
    expect([part?.taken[completed], part?.taken[nextTurn]]).toEqual([1, 1]);
    const ids = chartOf(queryMachine).edges.map(({ id }) => id);
    expect(Object.keys(part?.taken ?? {}).filter((id) => !ids.includes(id))).toEqual([]);
  });
  it('a process of the test, in a part of its own', async () => {
    beginCoverage(here);
    const box = await openCliBox({ replies: [say('hello')] });
    const run = await box.run(['-p', 'hi', '--setting-sources=']);
    await box.close();
    expect(run.stdout).toContain('hello');
    expect(partsOfThis().map(({ taken }) => taken[completed])).toEqual([1]);
  });
  it('calls each transition as the inspector does', () => {
    const walk = (node: AnyStateNode): void => {
      const ways = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
      for (const way of ways) expect(edgeId(way)).toBe(edgeIdOf(way));
      for (const child of Object.values(node.states)) walk(child as AnyStateNode);
    };
    walk(queryMachine.root as AnyStateNode);
  });
});

describe('merging', () => {
  const parts: readonly CoveragePart[] = [
    { test: 'b.test.ts', taken: { [completed]: 2, [nextTurn]: 1 } },
    { test: 'a.test.ts', taken: { [completed]: 1, 'query.no.such|edge|0': 9 } },
    { test: 'a.test.ts', taken: { [completed]: 4 } },
  ];
  const coverage = merged(parts);

  it('adds up, names the tests, and leaves no transition out', () => {
    expect([coverage.taken[completed], coverage.taken[nextTurn]]).toEqual([7, 1]);
    expect(coverage.tests[completed]).toEqual(['a.test.ts', 'b.test.ts']);
    expect(coverage.runs).toBe(2);
    const ids = chartOf(queryMachine).edges.map(({ id }) => id);
    expect(Object.keys(coverage.taken)).toEqual(ids);
    expect(neverTaken(coverage)).toEqual(ids.filter((id) => id !== completed && id !== nextTurn));
  });
  it('is a table with what is missing on top', () => {
    const lines = coverageTable(coverage);
    expect(lines[1]).toMatch(/^ +0 +0 {2}\S/);
    const counts = lines.slice(1, -2).map((line) => Number(line.trim().split(/\s+/)[0]));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(lines.at(-3)).toMatch(/^ +7 +2 {2}stopHooks\.satisfied +always +→ terminal +completed$/);
    expect(lines.at(-1)).toMatch(/^2 of \d+ transitions taken by real engines in 2 test files$/);
  });
});
