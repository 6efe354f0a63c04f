/** No serious violation of the rules for accessible pages, in both schemes and on every tab. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launch } from './chromium.ts';
import { demo, demoPrompts } from './demo.ts';
import { open, tab } from './page.ts';
import { type Watched, watch } from './session.ts';
import { shows } from './waits.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tabs = ['step', 'conversation', 'requests', 'events', 'reasons', 'services', 'coverage'];

/** @param part the chart is large and the same on every tab: it is looked at once. */
async function violations(page: Page, part: string): Promise<readonly string[]> {
  const results = (await page.evaluate(`axe.run('${part}')`)) as AxeResults;
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id} ${target} ${html}`));
}

describe.skipIf(chromiumPath === undefined)('the page can be used by everybody', () => {
  let browser: Browser;
  let session: Watched;
  beforeAll(async () => {
    browser = await launch();
    session = await watch({ ...demo(), inspector: { hold: true, send: true } });
    for (const prompt of demoPrompts) await session.ask(prompt);
  });
  afterAll(async () => {
    await session?.close();
    await browser?.close();
  });

  it.each(['dark', 'light'] as const)('%s', async (scheme) => {
    const { page } = await open(browser, session.inspector.url, { scheme });
    await shows(page, 1);
    await page.evaluate(axe);
    const found = [...(await violations(page, 'html'))];
    for (const name of tabs) {
      await tab(page, name);
      found.push(...(await violations(page, '#side')).map((line) => `${name}: ${line}`));
    }
    await page.keyboard.press('?');
    found.push(...(await violations(page, '#help')).map((line) => `help: ${line}`));
    expect(found).toEqual([]);
    await page.context().close();
  });
});
