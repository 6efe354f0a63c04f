/** Every reason has its story: `test/reasons/<reason>.test.ts`, told over HTTP by the real engine. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';

const folder = new URL('../reasons/', import.meta.url);
const SUFFIX = '.test.ts';
const told = readdirSync(folder)
  .filter((name) => name.endsWith(SUFFIX))
  .map((name) => name.slice(0, -SUFFIX.length));
/** Before there is a query: the engine's own. */
const reasons = [
  ...Object.keys(continueReasons),
  ...Object.keys(terminalReasons),
  'turn_setup_failed',
];

describe('stories', () => {
  it('each reason has one, and each one has a reason', () => {
    expect(told.toSorted()).toEqual(reasons.toSorted());
  });

  it.each(reasons)('%s: the story shows the whole output, and the reason in it', (reason) => {
    const text = readFileSync(new URL(`${reason}${SUFFIX}`, folder), 'utf8');
    const list = /expect\((?:told\.)?lines(?:\.slice\(\d+\))?\)\.toEqual\((\[.*?\n {2}\])\)/s.exec(
      text,
    );
    const mark = reason in continueReasons ? `→ ${reason}'` : `end ${reason} `;
    expect(list?.[1]).toContain(mark);
    expect(text.startsWith('/**')).toBe(true);
  });
});
