/**
 * Which transitions of the chart the tests take: every engine in a test's process, and every CLI
 * that it starts. Each test file has a file of its own, so that a run of one of them makes only its
 * own part new.
 */
import { subscribe } from 'node:diagnostics_channel';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { AnyTransitionDefinition, InspectionEvent } from 'xstate';

const root = fileURLToPath(new URL('../../', import.meta.url));
export const partsFolder = path.join(root, 'coverage', 'chart');

/** What one test file, or one process of it, has taken. */
export interface CoveragePart {
  /** Path from the root. */
  readonly test: string;
  /** Edge id → how often. */
  readonly taken: Readonly<Record<string, number>>;
}

interface Counting {
  test: string;
  taken: Record<string, number>;
}
/** One for the process: files of one project may share it, modules are not always shared. */
const shared = globalThis as { escapementChartCoverage?: Counting };

/** From now on it is this test file that takes transitions. */
export function beginCoverage(testPath: string): void {
  const test = path.relative(root, testPath);
  const isFirst = shared.escapementChartCoverage === undefined;
  shared.escapementChartCoverage = { test, taken: {} };
  if (isFirst) subscribe('escapement:inspect', count);
  mkdirSync(partsFolder, { recursive: true });
  const own = `${nameOf(test)}.`;
  for (const name of readdirSync(partsFolder)) {
    if (name.startsWith(own)) rmSync(path.join(partsFolder, name), { force: true });
  }
}

export function endCoverage(): void {
  const counting = shared.escapementChartCoverage;
  if (!counting || Object.keys(counting.taken).length === 0) return;
  const part: CoveragePart = counting;
  writeFileSync(path.join(partsFolder, `${nameOf(part.test)}.json`), JSON.stringify(part));
}

/** Flags of Node with which a process of ours writes down what it takes. */
export function coverageFlags(): readonly string[] {
  const test = shared.escapementChartCoverage?.test;
  if (test === undefined) return [];
  const preload = pathToFileURL(path.join(root, 'test', 'tools', 'coverage-preload.mjs'));
  preload.searchParams.set('test', test);
  preload.searchParams.set('file', path.join(partsFolder, nameOf(test)));
  return ['--import', preload.href];
}

const nameOf = (test: string): string => test.replaceAll(/[^\w.]+/g, '-');

function count(message: unknown): void {
  const taken = shared.escapementChartCoverage?.taken;
  const event = message as InspectionEvent;
  if (!taken || event.type !== '@xstate.microstep') return;
  for (const transition of event._transitions) {
    const id = edgeId(transition);
    if (id !== undefined) taken[id] = (taken[id] ?? 0) + 1;
  }
}

/**
 * As the inspector names it. Written here again, since every test file loads this one, and nothing
 * heavy with it. `undefined`: XState's own way into the first state.
 */
export function edgeId(transition: AnyTransitionDefinition): string | undefined {
  const { source, eventType } = transition;
  const siblings = eventType === '' ? source.always : source.transitions.get(eventType);
  const index = siblings?.indexOf(transition) ?? -1;
  return index < 0 ? undefined : `${source.id}|${eventType}|${index}`;
}
