/**
 * The parts that the tests have written, as one file that the inspector paints
 * (`escapement inspect --coverage coverage/chart.json`) and as a table.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { queryMachine } from '../../machines/query.machine.ts';
import { chartOf } from '../../src/inspect/chart-of.ts';
import type { ChartEdge, Coverage } from '../../src/inspect/protocol.ts';
import { type CoveragePart, partsFolder } from './chart-coverage.ts';

const root = path.join(partsFolder, '..', '..');
export const coverageFile = path.join(partsFolder, '..', 'chart.json');

const { id: chart, edges } = chartOf(queryMachine);

/** What the inspector reads, and which tests took each transition. */
export interface ChartCoverage extends Coverage {
  readonly tests: Readonly<Record<string, readonly string[]>>;
}

/** Every transition of the chart is in it, also one that was never taken. */
export function merged(parts: readonly CoveragePart[]): ChartCoverage {
  const taken: Record<string, number> = {};
  const tests: Record<string, string[]> = {};
  for (const { id } of edges) {
    const takers = parts.filter((part) => (part.taken[id] ?? 0) > 0);
    taken[id] = takers.reduce((sum, part) => sum + (part.taken[id] ?? 0), 0);
    tests[id] = [...new Set(takers.map(({ test }) => test))].toSorted();
  }
  return { chart, taken, runs: new Set(parts.map(({ test }) => test)).size, tests };
}

/** Of test files that are still there. A part that is being written is left out. */
export function readParts(): readonly CoveragePart[] {
  if (!existsSync(partsFolder)) return [];
  return readdirSync(partsFolder).flatMap((name) => {
    try {
      const part: CoveragePart = JSON.parse(readFileSync(path.join(partsFolder, name), 'utf8'));
      return existsSync(path.join(root, part.test)) ? [part] : [];
    } catch {
      return [];
    }
  });
}

/** Merges what there is into the one file. */
export function writeCoverage(): ChartCoverage {
  const coverage = merged(readParts());
  mkdirSync(path.dirname(coverageFile), { recursive: true });
  writeFileSync(coverageFile, `${JSON.stringify(coverage, null, 1)}\n`);
  return coverage;
}

const shortId = (id: string) => id.replace(`${chart}.`, '');
const targetOf = ({ guard, target, targetless }: ChartEdge) => {
  const to = targetless ? '(stays)' : `→ ${shortId(target)}`;
  return guard === undefined ? to : `${guard} ${to}`;
};

/** One line a transition, never-taken ones first, then the rarest. */
export function coverageTable({ taken, tests, runs }: ChartCoverage): readonly string[] {
  const counted = edges.map((edge) => ({ edge, count: taken[edge.id] ?? 0 }));
  const rows = counted
    .toSorted((a, b) => a.count - b.count)
    .map(({ edge, count }) => [
      String(count),
      String(tests[edge.id]?.length ?? 0),
      shortId(edge.source),
      edge.label,
      targetOf(edge),
      edge.reason ?? '',
    ]);
  const head = ['taken', 'tests', 'state', 'event', 'guard → target', 'reason'];
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i < 2 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const reached = counted.filter(({ count }) => count > 0).length;
  return [
    line(head),
    ...rows.map(line),
    '',
    `${reached} of ${edges.length} transitions taken by real engines in ${runs} test files`,
  ];
}

/** Ids of the transitions that no engine has taken. */
export const neverTaken = ({ taken }: ChartCoverage): readonly string[] =>
  Object.keys(taken).filter((id) => taken[id] === 0);
