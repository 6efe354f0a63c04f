/**
 * A session with an inspector beside it: the real engine in a folder of its own, over HTTP against
 * the scripted server, watched through the real inspector's server.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InspectorOptions } from '../../src/inspect/start-inspector.ts';
import { type Inspector, startInspector } from '../../src/inspect/start-inspector.ts';
import type { QueryEngine } from '../../src/query-engine.ts';
import { writeDemoProject } from '../../src/testing/demo-project.ts';
import type { Script } from '../../src/testing/script.ts';
import { createScriptedServer } from '../../src/testing/scripted-server.ts';
import { engineFor, type Place, type Story } from '../tools/story.ts';

export interface Watched {
  readonly engine: QueryEngine;
  readonly inspector: Inspector;
  readonly place: Place;
  /** Runs a turn to its end. */
  readonly ask: (prompt: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Setting extends Pick<Story, 'options' | 'limits' | 'config' | 'environment'> {
  readonly script: Script | ((place: Pick<Place, 'cwd' | 'home'>) => Script);
  readonly inspector?: InspectorOptions;
}

export async function watch(setting: Setting): Promise<Watched> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-watched-')));
  const folders = { cwd: join(root, 'project'), home: join(root, 'home') };
  mkdirSync(folders.cwd);
  mkdirSync(folders.home);
  await writeDemoProject(folders.cwd);
  const { script } = setting;
  const server = createScriptedServer(typeof script === 'function' ? script(folders) : script);
  await server.listen();
  const place: Place = { ...folders, server };
  const engine = await engineFor(setting, place);
  const inspector = await startInspector(engine, { keepAlive: true, ...setting.inspector });
  return {
    engine,
    inspector,
    place,
    ask: async (prompt) => {
      for await (const message of engine.submitMessage(prompt)) void message;
    },
    close: async () => {
      await engine.close();
      await inspector.close();
      await server.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
