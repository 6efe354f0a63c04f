/** Pictures of the inspector for the docs: the demo session, as a reader would look at it. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launch } from './chromium.ts';
import { demo, demoPrompts } from './demo.ts';
import { open, painted, tab } from './page.ts';
import { watch } from './session.ts';

/** A page with a larger picture loads slowly from a repository. */
const BYTES_MAX = 300_000;

interface Picture {
  readonly name: string;
  readonly scheme: 'dark' | 'light';
  readonly look: (page: Page) => Promise<void>;
}

const toReason = async (page: Page, reason: string) => {
  await tab(page, 'reasons');
  await page.locator('.bar', { hasText: reason }).click();
};
const toTurn = async (page: Page, index: number) => {
  await page.locator('#instance').selectOption({ index });
  await painted(page);
};

const pictures: readonly Picture[] = [
  {
    name: 'inspector',
    scheme: 'light',
    look: async (page) => {
      await toReason(page, 'max_output_tokens_escalate');
      await tab(page, 'step');
    },
  },
  {
    name: 'inspector-dark',
    scheme: 'dark',
    look: async (page) => {
      await toReason(page, 'stop_hook_blocking');
      await tab(page, 'step');
    },
  },
  {
    name: 'inspector-conversation',
    scheme: 'dark',
    look: async (page) => {
      await tab(page, 'conversation');
      await page.locator('.message.is-retracted').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'inspector-requests',
    scheme: 'light',
    look: async (page) => {
      await toTurn(page, 1);
      await tab(page, 'requests');
      await page.locator('.request summary').first().click();
    },
  },
  { name: 'inspector-reasons', scheme: 'dark', look: (page) => tab(page, 'reasons') },
  {
    name: 'inspector-services',
    scheme: 'light',
    look: async (page) => {
      await toTurn(page, 1);
      await tab(page, 'services');
    },
  },
];

/** @returns a line for each picture. */
export async function takePictures(folder: string): Promise<readonly string[]> {
  const browser = await launch();
  const session = await watch({ ...demo(), inspector: { title: 'demo' } });
  const lines: string[] = [];
  try {
    for (const prompt of demoPrompts) await session.ask(prompt);
    for (const { name, scheme, look } of pictures) {
      const { page } = await open(browser, session.inspector.url, { scheme });
      await page.locator('.chart').waitFor();
      await toTurn(page, 0);
      await look(page);
      await painted(page);
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path, animations: 'disabled' });
      const { size } = statSync(path);
      if (size > BYTES_MAX) throw new Error(`${name}.png has ${size} bytes: above ${BYTES_MAX}`);
      lines.push(`docs/pictures/${name}.png ${Math.round(size / 1_000)} kB`);
      await page.context().close();
    }
  } finally {
    await browser.close();
    await session.close();
  }
  return lines;
}
