/**
 * `npm run docs:pictures`: the pictures in docs/pictures/, made anew from a session that really runs.
 * Needs Chromium. A picture that changes is a change to look at.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('../../', import.meta.url));
const server = await createServer({
  root,
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true, include: [] },
});
const { takePictures } = await server.ssrLoadModule('/test/browser/pictures.ts');
const folder = `${root}docs/pictures`;
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const line of await takePictures(folder)) console.log(line);
await server.close();
process.exit(0);
