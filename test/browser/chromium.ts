/** Chromium of the system, driven by playwright-core: nothing is downloaded. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const usual = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where it is; undefined: there is none. */
export const chromiumPath: string | undefined =
  process.env.CHROMIUM_PATH ?? usual.find((path) => existsSync(path));

export function launch(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('no Chromium: set CHROMIUM_PATH');
  // its sandbox refuses to work for root, and root is who runs in a container of a CI
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--disable-dev-shm-usage', ...(isRoot ? ['--no-sandbox'] : [])],
  });
}
