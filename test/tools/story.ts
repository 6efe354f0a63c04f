/**
 * A story: the real engine in a folder of its own, over real HTTP against the scripted server. What
 * the host heard comes back as one line a message, so that a test can show the whole output.
 *
 * Whatever a story is about, some things hold in each: every request was legal, each prompt is
 * named by one result, what was shown and not taken back is what stands, the results have the usage
 * that the server told, and nothing leaks (`brokenInvariants` of the kit).
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryLimits } from '../../machines/limits.ts';
import type { LogMessage } from '../../services/messages.ts';
import type { Gates, Prompt, QueryEngineConfig } from '../../src/config.ts';
import { configFromOptions, type Options } from '../../src/options.ts';
import { QueryEngine } from '../../src/query-engine.ts';
import {
  agreedBy,
  brokenInvariants,
  type InvariantName,
  warningsDuring,
} from '../../src/testing/invariants.ts';
import type { ReceivedRequest } from '../../src/testing/received-request.ts';
import type { Script } from '../../src/testing/script.ts';
import { createScriptedServer, type ScriptedServer } from '../../src/testing/scripted-server.ts';
import type { SDKMessage, SDKResultMessage } from '../../src/wire.ts';
import { consoleWordsDuring } from './console-words.ts';
import { gatesOfRun } from './gates.ts';
import { lineOf } from './lines.ts';

export { heard, lineOf } from './lines.ts';

export interface Place {
  readonly cwd: string;
  readonly home: string;
  readonly server: ScriptedServer;
}

export interface Story {
  readonly script: Script | ((place: Pick<Place, 'cwd' | 'home'>) => Script);
  /** Each is a turn of one session. Default: one, `do it`. */
  readonly prompts?: readonly Prompt[];
  readonly options?: Options | ((place: Place) => Options);
  /** Bounds that have no option: small, so that an ending is near. */
  readonly limits?: Partial<QueryLimits>;
  /**
   * What this story is about, or what it means to be without: it is told with these gates, whatever
   * the run has (`test/tools/gates.ts`).
   */
  readonly gates?: Partial<Gates>;
  /** Fields of the engine's configuration, over what the options make of it. */
  readonly config?: (config: QueryEngineConfig, place: Place) => Partial<QueryEngineConfig>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly prepare?: (place: Place) => void;
  /** Before the first prompt. */
  readonly begin?: (engine: QueryEngine, place: Place) => void | Promise<void>;
  /** Called for each message, as it comes. */
  readonly during?: (
    message: SDKMessage,
    engine: QueryEngine,
    place: Place,
  ) => void | Promise<void>;
  /** Before the engine is closed. */
  readonly after?: (engine: QueryEngine, place: Place) => void | Promise<void>;
  /** What this story means to break. */
  readonly except?: readonly InvariantName[];
  readonly check?: (told: Told) => void | Promise<void>;
}

export interface Told extends Place {
  readonly messages: readonly SDKMessage[];
  /** One line a message, without ids and times. */
  readonly lines: readonly string[];
  readonly results: readonly SDKResultMessage[];
  readonly last: SDKResultMessage;
  /** The loop's requests. */
  readonly requests: readonly ReceivedRequest[];
  /** Reasons for which the turns went on. */
  readonly transitions: readonly string[];
  /** What stands in the end, oldest first. */
  readonly history: readonly LogMessage[];
}

/** Tells a story to its end. The folders are gone when it returns, after `check`. */
export async function tell(story: Story): Promise<Told> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-story-')));
  const folders = { cwd: join(root, 'work'), home: join(root, 'home') };
  mkdirSync(folders.cwd);
  mkdirSync(folders.home);
  const script = typeof story.script === 'function' ? story.script(folders) : story.script;
  const server = createScriptedServer(script);
  await server.listen();
  const place: Place = { ...folders, server };
  try {
    story.prepare?.(place);
    const told = await run(story, place);
    await story.check?.(told);
    return told;
  } finally {
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** An engine for a story's place, for tests that drive it themselves. */
export async function engineFor(
  story: Pick<Story, 'options' | 'limits' | 'config' | 'environment' | 'gates'>,
  place: Place,
): Promise<QueryEngine> {
  const options = typeof story.options === 'function' ? story.options(place) : story.options;
  const config = await configFromOptions(
    {
      cwd: place.cwd,
      model: 'claude-sonnet-4-5',
      permissionMode: 'bypassPermissions',
      allowDangerouslySkipPermissions: true,
      settingSources: [],
      ...options,
    },
    {
      ANTHROPIC_BASE_URL: place.server.url,
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: place.home,
      ESCAPEMENT_RETRY_BASE_MS: '2',
      PATH: process.env.PATH ?? '',
      HOME: place.home,
      ...story.environment,
    },
  );
  const own = story.config?.(config, place);
  const limits = { ...config.limits, ...own?.limits, ...story.limits };
  const gates = { ...gatesOfRun, ...config.gates, ...own?.gates, ...story.gates };
  return new QueryEngine({ ...config, ...own, limits, gates });
}

async function run(story: Story, place: Place): Promise<Told> {
  const engine = await engineFor(story, place);
  const agreed = agreedBy(engine);
  const warnings = warningsDuring();
  const words = consoleWordsDuring();
  const prompts: string[] = [];
  const messages: SDKMessage[] = [];
  let history: readonly LogMessage[] = [];
  try {
    await story.begin?.(engine, place);
    for (const prompt of story.prompts ?? ['do it']) {
      const uuid = randomUUID();
      prompts.push(uuid);
      for await (const message of engine.submitMessage(prompt, { uuid })) {
        messages.push(message);
        await story.during?.(message, engine, place);
      }
    }
    history = engine.messages;
    await story.after?.(engine, place);
  } finally {
    await engine.close();
  }
  const results = messages.filter((message) => message.type === 'result');
  const last = results.at(-1);
  if (!last) throw new Error('the story has no result');
  const lines = messages.map(lineOf);
  // A line that is broken off at the end may have been told a usage that nobody has read any more.
  const isBroken = story.gates?.emitToolUseSummaries ?? gatesOfRun.emitToolUseSummaries;
  const except = [...(story.except ?? []), ...(isBroken ? ['usage'] : [])];
  const facts = { messages, results, prompts, history, agreed, server: place.server };
  const broken = brokenInvariants({ ...facts, warnings: [...warnings(), ...words()] }).filter(
    ({ name }) => !except.includes(name),
  );
  if (broken[0]) {
    throw new Error(`${broken[0].name}: ${broken[0].detail}\nthe story:\n  ${lines.join('\n  ')}`);
  }
  // What a story has not asked for is not in its way: these come when they come.
  const isHeard = (message: SDKMessage) =>
    message.type !== 'tool_use_summary' || story.gates?.emitToolUseSummaries === true;
  return {
    ...place,
    messages: messages.filter(isHeard),
    lines: messages.filter(isHeard).map(lineOf),
    results,
    last,
    history,
    requests: place.server.requestsOf('loop'),
    transitions: messages.flatMap((message) =>
      message.type === 'system' && message.subtype === 'transition' && !message.parent_tool_use_id
        ? [message.reason]
        : [],
    ),
  };
}
