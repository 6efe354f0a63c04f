/**
 * A session with an inspector beside it: the real engine in a folder of its own, over HTTP against
 * the scripted server, watched through the real inspector's server.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InspectorOptions } from '../../src/inspect/start-inspector.ts';
import { type Inspector, startInspector } from '../../src/inspect/start-inspector.ts';
import { configFromOptions, type Options } from '../../src/options.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import { writeDemoProject } from '../../src/testing/demo-project.ts';
import type { Script } from '../../src/testing/script.ts';
import { createScriptedServer, type ScriptedServer } from '../../src/testing/scripted-server.ts';

export interface Place {
  readonly cwd: string;
  readonly home: string;
  readonly server: ScriptedServer;
}

export interface Watched {
  readonly engine: QueryEngine;
  readonly inspector: Inspector;
  readonly place: Place;
  /** Runs a turn to its end. */
  readonly ask: (prompt: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Setting {
  readonly options?: Options;
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
  const engine = await engineIn(place, setting.options);
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

async function engineIn({ cwd, home, server }: Place, options: Options = {}): Promise<QueryEngine> {
  const config = await configFromOptions(
    {
      cwd,
      model: 'claude-sonnet-4-5',
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
      settingSources: [],
      ...options,
    },
    {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: home,
      ESCAPEMENT_RETRY_BASE_MS: '2',
      PATH: process.env.PATH ?? '',
      HOME: home,
    },
  );
  return new QueryEngine(config);
}
