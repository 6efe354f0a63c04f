/** The chart in its other forms: painted with what the tests have taken, and as a list. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryMachine } from '../../machines/query.machine.ts';
import { chartOf } from '../../src/inspect/chart-of.ts';
import type { Coverage } from '../../src/inspect/protocol.ts';
import { say } from '../../src/testing/index.ts';
import { chromiumPath, launch } from './chromium.ts';
import { drop, open, painted, tab } from './page.ts';
import { type Watched, watch } from './session.ts';
import { shows } from './waits.ts';

const chart = chartOf(queryMachine);
const edge = (reason: string): string =>
  chart.edges.find((one) => one.reason === reason)?.id ?? 'there is no such edge';

describe.skipIf(chromiumPath === undefined)('the chart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'escapement-coverage-'));
  const file = join(folder, 'chart.json');
  let browser: Browser;
  let session: Watched;
  beforeAll(async () => {
    browser = await launch();
    session = await watch({ script: { replies: [say('One.')] }, inspector: { coverage: file } });
    await session.ask('hello');
  });
  afterAll(async () => {
    await session?.close();
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is painted with what the tests have taken, and says what they have not', async () => {
    const taken = { [edge('completed')]: 1_234, [edge('max_turns')]: 7 };
    const coverage: Coverage = { chart: chart.key, taken, runs: 3 };
    writeFileSync(file, JSON.stringify(coverage));
    const { page, complaints } = await open(browser, session.inspector.url);
    await shows(page, 1);
    await tab(page, 'coverage');
    const panel = page.locator('#panel-coverage');
    await expect.poll(() => panel.textContent()).toContain('2taken');
    await expect.poll(() => panel.textContent()).toContain(`${chart.edges.length - 2}never`);
    const exit = (name: string) =>
      page.locator('.chart .exit', { has: page.locator(`text:text-is("${name}")`) });
    await expect.poll(() => exit('completed').locator('.count').textContent()).toBe('1×');
    await panel.locator('button', { hasText: 'Paint it on the chart' }).click();
    await expect.poll(() => exit('completed').locator('.count').textContent()).toBe('1.2k×');
    await expect.poll(() => exit('max_turns').getAttribute('class')).toContain('is-taken');
    await expect.poll(() => exit('refusal').getAttribute('class')).not.toContain('is-taken');
    await panel.locator('button', { hasText: 'Paint it on the chart' }).click();
    await expect.poll(() => exit('completed').locator('.count').textContent()).toBe('1×');
    await expect.poll(() => exit('max_turns').getAttribute('class')).not.toContain('is-taken');
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('is a list when nobody has drawn it, and lives like the drawing', async () => {
    const lines: string[] = [];
    for await (const line of session.inspector.recording()) {
      const { svg: _, ...read } = JSON.parse(line);
      lines.push(JSON.stringify(read));
    }
    const { page, complaints } = await open(browser, session.inspector.url);
    await drop(page, lines.join('\n'));
    await expect.poll(() => page.locator('.nested').count()).toBe(1);
    await expect.poll(() => page.locator('.nested .state').count()).toBe(chart.nodes.length);
    await expect.poll(() => page.locator('.nested .nested-edge').count()).toBe(chart.edges.length);
    await expect.poll(() => page.locator('.nested .is-hot').allTextContents()).not.toEqual([]);
    expect((await page.locator('.nested .is-hot').allTextContents()).join()).toContain('completed');
    await page.keyboard.press('Home');
    await painted(page);
    await expect
      .poll(() => page.locator('.nested .is-on > .nested-name').allTextContents())
      .toContain('toolResultBudget');
    await page.locator('.nested-edge', { hasText: 'completed' }).click();
    await expect.poll(() => page.locator('#panel-step').textContent()).toContain('completed');
    // a recording has one context now and then: it says whose it is
    await page.keyboard.press('ArrowLeft');
    await page.locator('summary', { hasText: 'Whole context' }).click();
    await expect.poll(() => page.locator('#panel-step').textContent()).toContain('after step 1');
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.each([
    '<a href="https://example.com/"><rect width="9000" height="9000"/></a>',
    '<foreignObject><meta xmlns="http://www.w3.org/1999/xhtml" http-equiv="refresh" content="0"/></foreignObject>',
    '<rect onclick="window.hacked=1"/>',
    '<style>body { display: none }</style>',
  ])('a drawing that somebody has added to is not shown: %s', async (added) => {
    const lines: string[] = [];
    for await (const line of session.inspector.recording()) {
      const { svg, ...read } = JSON.parse(line);
      const other = typeof svg === 'string' ? { svg: svg.replace('</svg>', `${added}</svg>`) } : {};
      lines.push(JSON.stringify({ ...read, ...other }));
    }
    const { page } = await open(browser, session.inspector.url);
    await drop(page, lines.join('\n'));
    await expect.poll(() => page.locator('.nested').count()).toBe(1);
    await expect
      .poll(() => page.locator('main').textContent())
      .toContain('more than a drawing needs');
    await page.context().close();
  });
});
