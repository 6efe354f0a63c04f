import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { machineReadme } from '../tools/machine-readme.ts';

const readme = readFileSync(new URL('../../machines/README.md', import.meta.url), 'utf8');

describe('machines/README.md', () => {
  it('shows the chart as it is (npm run generate)', () => {
    expect(machineReadme(readme)).toBe(readme);
  });
  it('is stale when an edge in it is not the one of the chart', () => {
    const stale = readme.replace('stopHooks.satisfied', 'stopHooks.elsewhere');
    expect(stale).not.toBe(readme);
    expect(machineReadme(stale)).toBe(readme);
  });
  it('names every file of the folder', () => {
    expect(() => machineReadme('')).toThrow('no marks');
    const files = ['query.machine', 'reasons', 'state', 'events', 'ports', 'edges', 'advance'];
    const more = ['token-budget', 'round', 'guards', 'actions', 'limits', 'index'];
    for (const file of [...files, ...more]) expect(readme).toContain(`\`${file}.ts\``);
  });
});
