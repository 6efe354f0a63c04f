/** What must hold of the chart as drawn. Counted on the machine itself, not on its source. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { reducers } from '../../machines/advance.ts';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import { drawn, edges } from './chart.ts';
import { alphabet, drawnRules } from './drawn-rules.ts';
import { all } from './world.ts';

const machines = new URL('../../machines/', import.meta.url);
const sources = readdirSync(machines).filter((file) => file.endsWith('.ts'));
const textOf = (file: string) => readFileSync(new URL(file, machines), 'utf8');

describe('the chart as drawn', () => {
  it.each(Object.entries(drawnRules))('%s', (_, rule) => expect(rule(drawn)).toEqual([]));

  it('has the 13 and 21 reasons of the design', () => {
    expect([Object.keys(continueReasons).length, Object.keys(terminalReasons).length]).toEqual([
      13, 21,
    ]);
    expect(Object.keys(reducers).sort()).toEqual(Object.keys(continueReasons).sort());
  });
  it('has an alphabet that is found, and spoken completely by the paths', () => {
    expect(alphabet).toContain('stream.toolUse');
    const letters = [...Object.values(all.answers), ...Object.values(all.heard)];
    const spoken = new Set(letters.flatMap((o) => Object.values(o)).map(({ type }) => type));
    expect(alphabet.filter((type) => !spoken.has(type as 'abort'))).toEqual([]);
  });
  it('has the root’s two words on the root', () => {
    const heard = edges.filter(({ from }) => from === 'query').map(({ on }) => on);
    expect(heard).toEqual(expect.arrayContaining(['abort', 'time.ranOut']));
  });
});

describe('the folder', () => {
  it.each(sources)('%s imports xstate and its own folder', (file) => {
    for (const [, from] of textOf(file).matchAll(/from '([^']+)'/g)) {
      if (from !== 'escapement/machine') expect(from).toMatch(/^(xstate$|\.\/)/);
    }
  });
  it.each(sources)('%s has no clock, no dice and no I/O', (file) => {
    const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(code).not.toMatch(
      /\b(Date|Math\.random|randomUUID|crypto|process|console|setTimeout|fetch|performance|import\()/,
    );
  });
  it('keeps the chart short', () => {
    const lines = textOf('query.machine.ts').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(210);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });
});
