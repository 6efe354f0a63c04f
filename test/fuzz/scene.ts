/** The places of a walk: folders, the server that plays the model, the engine as the walk wants it. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryLimits } from '../../machines/limits.ts';
import { configFromOptions, type Options } from '../../src/options.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import { openRequested } from '../../src/resume.ts';
import type { Script } from '../../src/testing/script.ts';
import { createScriptedServer, type ScriptedServer } from '../../src/testing/scripted-server.ts';
import { SentMemory } from '../../src/testing/sent-memory.ts';
import { type Effect, hooksOf, type Life, personOf, toolsOf } from './host-side.ts';
import type { Walk } from './walk.ts';

/** Small, so that every deadline is near; above what a healthy step needs on a busy machine. */
const limits: Partial<QueryLimits> = {
  ...{ stageMs: 1_500, summaryMs: 1_500, requestMs: 900, streamMs: 1_500, drainMs: 300 },
  ...{ switchMs: 500, toolGraceMs: 700, attachMs: 400, hooksMs: 1_000 },
  ...{ retryBaseMs: 1, retryCapMs: 8, retryAfterMaxMs: 200, retriesMax: 3 },
  ...{ outputResumesMax: 2, streamResumesMax: 2, pausesMax: 2, stopHookBlocksMax: 2 },
  ...{ tokenNudgesMax: 3, schemaTriesMax: 2, repeatsReminded: 2, repeatsMax: 4, blocksMax: 12 },
};
/** The byte limit of streams, and the one of pings. */
const IDLE_MS = 350;
const QUIET_MS = 450;

export interface Scene {
  readonly walk: Walk;
  /** Seconds that its processes sleep: by them those are found that are left behind. */
  readonly nap: string;
  readonly root: string;
  readonly cwd: string;
  readonly sessionId: string;
  readonly memory: SentMemory;
  readonly effects: Effect[];
}

/** One process of the session. */
export interface OpenLife extends Life {
  isDead: boolean;
  readonly engine: QueryEngine;
  readonly server: ScriptedServer;
  readonly home: string;
  /** Of the host. */
  readonly controller: AbortController;
  readonly isResumed: boolean;
}

export function openScene(walk: Walk, sessionId: string, nap: string): Scene {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-fuzz-')));
  const cwd = join(root, 'work');
  mkdirSync(cwd);
  mkdirSync(join(root, 'home'));
  return { walk, nap, root, cwd, sessionId, memory: new SentMemory(), effects: [] };
}

export const closeScene = ({ root }: Scene): void =>
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });

/** What a killed process leaves behind is in its files. @returns the home as it is now. */
export function crashedHome({ root }: Scene, from: string): string {
  const copy = join(root, `home-${readdirSync(root).length}`);
  cpSync(from, copy, { recursive: true });
  for (const name of readdirSync(copy, { recursive: true }).map(String)) {
    if (/(^|\/)lock\.\d+$/.test(name)) rmSync(join(copy, name));
  }
  return copy;
}

/** The session's file; `undefined`: nothing was written. */
export function transcriptOf(home: string, sessionId: string): string | undefined {
  const found = readdirSync(home, { recursive: true }).map(String);
  const name = found.find((one) => one.endsWith(`${sessionId}.jsonl`));
  return name === undefined ? undefined : join(home, name);
}

const scriptOf = ({ replies, compactions, collapses, toolSummaries, ...rest }: Walk): Script => ({
  replies,
  whenExhausted: { kind: 'message', content: [{ type: 'text', text: 'All done.' }] },
  ...(compactions?.length ? { compactions } : {}),
  ...(collapses?.length ? { collapses } : {}),
  ...(toolSummaries?.length ? { toolSummaries } : {}),
  ...(rest.window === undefined ? {} : { window: rest.window }),
  ...(rest.countTokens === undefined ? {} : { countTokens: rest.countTokens }),
});

/**
 * A process that begins the session, or goes on with it.
 * @param plain nothing goes wrong any more: what the session has been through must not show.
 */
export async function openLife(
  scene: Scene,
  home: string,
  { replies, isPlain = false }: { replies: Walk['replies']; isPlain?: boolean },
): Promise<OpenLife> {
  const { walk, cwd, memory } = scene;
  const script: Script = isPlain ? { replies } : scriptOf({ ...walk, replies });
  const server = createScriptedServer(script, { memory });
  await server.listen();
  const controller = new AbortController();
  const isResumed = transcriptOf(home, scene.sessionId) !== undefined;
  const life: { -readonly [K in keyof OpenLife]?: OpenLife[K] } & { isDead: boolean } = {
    ...{ server, home, controller, isResumed, isDead: false },
  };
  const options: Options = {
    ...optionsOf(scene, isPlain),
    abortController: controller,
    ...(isResumed ? { resume: scene.sessionId } : { sessionId: scene.sessionId }),
    canUseTool: personOf(() => life.engine?.interrupt()),
  };
  try {
    const config = await configFromOptions(options, {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: home,
      ...(isPlain ? {} : { ESCAPEMENT_STREAM_IDLE_MS: String(IDLE_MS) }),
      PATH: process.env.PATH ?? '',
      HOME: home,
    });
    const place = { home: config.home, cwd, store: config.journal };
    life.engine = new QueryEngine({
      ...config,
      ...(await openRequested(options, place)),
      ...(isPlain ? {} : { gates: { ...config.gates, ...walk.settings.gates } }),
      model: { ...config.model, ...(isPlain ? {} : { quietMs: QUIET_MS }) },
      tools: [...config.tools, ...toolsOf(life, scene.effects)],
      limits: { ...config.limits, ...(isPlain ? {} : limits) },
    });
  } catch (error) {
    await server.close();
    throw error;
  }
  return life as OpenLife;
}

function optionsOf({ walk, cwd, nap }: Scene, isPlain: boolean): Options {
  const { settings: s } = walk;
  const common: Options = {
    cwd,
    model: 'claude-sonnet-4-5',
    tools: ['Task', 'TaskOutput', 'TodoWrite', 'Read', 'Bash'],
    settingSources: [],
    permissionMode: 'bypassPermissions',
    allowDangerouslySkipPermissions: true,
  };
  if (isPlain) return common;
  return {
    ...common,
    ...hooksOf(walk.hooks, nap),
    ...(s.mode ? { permissionMode: s.mode } : {}),
    ...(s.isPartial ? { includePartialMessages: true } : {}),
    ...(s.maxTurns === undefined ? {} : { maxTurns: s.maxTurns }),
    ...(s.maxBudgetUsd === undefined ? {} : { maxBudgetUsd: s.maxBudgetUsd }),
    ...(s.maxDurationMs === undefined ? {} : { maxDurationMs: s.maxDurationMs }),
    ...(s.maxOutputTokens === undefined ? {} : { maxOutputTokens: s.maxOutputTokens }),
    ...(s.tokenBudget === undefined ? {} : { tokenBudget: s.tokenBudget }),
    ...(s.taskBudget === undefined ? {} : { taskBudget: { total: s.taskBudget } }),
    ...(s.autoCompactWindow === undefined ? {} : { autoCompactWindow: s.autoCompactWindow }),
    ...(s.historySnip === undefined ? {} : { historySnip: { maxMessages: s.historySnip } }),
    ...(s.hasFallback ? { fallbackModel: 'claude-haiku-4-5' } : {}),
    ...(s.isBare ? { bare: true } : {}),
    ...(s.thinking === 'adaptive' ? { thinking: { type: 'adaptive' as const } } : {}),
    ...(s.thinking === 'enabled' ? { maxThinkingTokens: 1_024 } : {}),
    ...(s.wantsShape ? { outputFormat: { type: 'json_schema' as const, schema: shape } } : {}),
  };
}

const shape = {
  type: 'object',
  properties: { count: { type: 'number' } },
  required: ['count'],
  additionalProperties: false,
} as const;
