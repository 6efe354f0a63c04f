/** What a test waits for: conditions, never times. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { position } from './page.ts';

/** Until the page shows so many steps of the instance that it looks at. */
export const shows = (page: Page, steps: number) =>
  expect
    .poll(async () => (await position(page)).of, { timeout: 20_000 })
    .toBeGreaterThanOrEqual(steps);
/** Until the page looks at a step. */
export const stands = (page: Page, at: number) =>
  expect.poll(async () => (await position(page)).at, { timeout: 10_000 }).toBe(at);
/** Until a turn has ended, as the page tells it. */
export const ended = (page: Page, reason: string) =>
  expect
    .poll(() => page.locator('#instance option:checked').textContent(), { timeout: 20_000 })
    .toContain(reason);
