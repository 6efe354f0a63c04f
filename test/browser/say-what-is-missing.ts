import { chromiumPath } from './chromium.ts';

/** Tests that are skipped say so: in the summary, and here why. */
export default function setup(): void {
  if (chromiumPath !== undefined) return;
  console.warn(
    'SKIPPED: the browser tests need Chromium. Install it (apt-get install chromium), or set CHROMIUM_PATH.',
  );
}
