/** The inspector's page in a browser, as a person sees it. */
import type { Browser, Page } from 'playwright-core';

export interface Seen {
  readonly page: Page;
  /** What the page complained of: must be empty in the end. */
  readonly complaints: readonly string[];
  /** Requests that went anywhere but to where the page came from. */
  readonly strangers: readonly string[];
}

export async function open(
  browser: Browser,
  url: string,
  options: { scheme?: 'dark' | 'light'; width?: number; height?: number } = {},
): Promise<Seen> {
  const { scheme = 'dark', width = 1600, height = 960 } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  const { origin } = new URL(url);
  page.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.protocol === 'data:' || asked.protocol === 'blob:') return;
    if (asked.origin !== origin) strangers.push(request.url());
  });
  await page.goto(url);
  return { page, complaints, strangers };
}

/** `12 / 78`, as numbers. */
export async function position(page: Page): Promise<{ at: number; of: number }> {
  const text = await page.locator('#position').textContent();
  const [at, of] = (text ?? '').split('/').map((part) => Number(part.replaceAll(',', '').trim()));
  return { at: at ?? Number.NaN, of: of ?? Number.NaN };
}
/** Ids of the states that are lit. */
export const lit = (page: Page): Promise<readonly string[]> =>
  page.locator('.chart .leaf.is-on .name').allTextContents();
export const tab = (page: Page, name: string) => page.locator(`#tab-${name}`).click();

/** Until what was last done to it can be seen: it paints once a frame. */
export const painted = (page: Page) =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

/** As if a file had been dragged in. */
export async function drop(page: Page, text: string): Promise<void> {
  const data = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(text)}], 'run.jsonl'));
    return transfer;
  })()`);
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
}
