/** A page that reads too slowly costs the run nothing: it is waited for, then it loses the oldest. */
import { afterEach, expect, it } from 'vitest';
import { LiveRun } from '../../src/inspect/live-run.ts';
import { serveRun } from '../../src/inspect/start-inspector.ts';
import { openPage, type Page } from './page.ts';

let page: Page;
let close: () => Promise<void>;
afterEach(async () => {
  page.close();
  await close();
});

const watched = async () => {
  const run = new LiveRun({ title: 'much', bounds: { stepsMax: 10_000, bytesMax: 1 << 30 } });
  const server = await serveRun(run);
  close = server.close;
  page = openPage(server.url);
  await page.hello();
  return run;
};
const numbers = () => page.entries.map(({ seq }) => seq);
const from = (first: number, end: number) =>
  Array.from({ length: end - first }, (_, i) => first + i);

it('of more than 20,000 entries that wait, the oldest are left out, and the page is told', async () => {
  const run = await watched();
  for (let i = 0; i < 20_500; i += 1) run.note('info', `note ${i}`);
  await page.until(() => page.entries.at(-1)?.seq === 20_499);
  expect(page.lost).toEqual([{ from: 0, to: 499 }]);
  expect(numbers()).toEqual(from(500, 20_500));
});

it('nothing is written any more when 8 MB are not read yet', async () => {
  const run = await watched();
  page.pause();
  const text = 'x'.repeat(3_000);
  for (let i = 0; i < 10_000; i += 1) run.note('info', text);
  // time enough to write all of it, for a server that would not wait
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  // these alone are not too many: something of the others must wait still
  for (let i = 0; i < 19_500; i += 1) run.note('info', 'y');
  page.resume();
  await page.until(() => page.entries.at(-1)?.seq === 29_499);
  expect(page.lost).toHaveLength(1);
  const [{ from: first, to }] = page.lost as [{ from: number; to: number }];
  expect(numbers()).toEqual([...from(0, first), ...from(to + 1, 29_500)]);
});
