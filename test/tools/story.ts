/**
 * A story: the real engine in a folder of its own, over real HTTP against the scripted server. What
 * the host heard comes back as one line a message, so that a test can show the whole output.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Prompt } from '../../src/config.ts';
import { engineFromOptions, type Options } from '../../src/options.ts';
import type { QueryEngine } from '../../src/query-engine.ts';
import type { ReceivedRequest } from '../../src/testing/received-request.ts';
import type { Script } from '../../src/testing/script.ts';
import { createScriptedServer, type ScriptedServer } from '../../src/testing/scripted-server.ts';
import type { SDKMessage, SDKResultMessage } from '../../src/wire.ts';

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
  readonly environment?: Readonly<Record<string, string>>;
  readonly prepare?: (place: Place) => void;
  /** Called for each message, as it comes. */
  readonly during?: (message: SDKMessage, engine: QueryEngine, place: Place) => void | Promise<void>;
  /** Rules that the story means to break. */
  readonly lenient?: boolean;
  readonly check?: (told: Told) => void | Promise<void>;
}

export interface Told extends Place {
  readonly messages: readonly SDKMessage[];
  /** One line a message, without ids and times. */
  readonly lines: readonly string[];
  readonly results: readonly SDKResultMessage[];
  readonly last: SDKResultMessage;
  /** Bodies of the loop's requests. */
  readonly requests: readonly ReceivedRequest[];
  /** Reasons for which the turns went on. */
  readonly transitions: readonly string[];
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
    const broken = server.violations.map(({ rule, message }) => `${rule}: ${message}`);
    if (!story.lenient && broken.length > 0) throw new Error(`illegal request: ${broken[0]}`);
    await story.check?.(told);
    return told;
  } finally {
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function run(story: Story, place: Place): Promise<Told> {
  const options = typeof story.options === 'function' ? story.options(place) : story.options;
  const engine = await engineFromOptions(
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
      ESCAPEMENT_RETRY_BASE_MS: '5',
      PATH: process.env.PATH ?? '',
      HOME: place.home,
      ...story.environment,
    },
  );
  const messages: SDKMessage[] = [];
  try {
    for (const prompt of story.prompts ?? ['do it']) {
      for await (const message of engine.submitMessage(prompt)) {
        messages.push(message);
        await story.during?.(message, engine, place);
      }
    }
  } finally {
    await engine.close();
  }
  const results = messages.filter((message) => message.type === 'result');
  const last = results.at(-1);
  if (!last) throw new Error('the story has no result');
  return {
    ...place,
    messages,
    lines: messages.map(lineOf),
    results,
    last,
    requests: place.server.requestsOf('loop'),
    transitions: messages.flatMap((message) =>
      message.type === 'system' && message.subtype === 'transition' ? [message.reason] : [],
    ),
  };
}

/** What a message says, in a line. */
export function lineOf(message: SDKMessage): string {
  switch (message.type) {
    case 'assistant': {
      const [block] = message.message.content;
      const what =
        block?.type === 'text'
          ? `says ${JSON.stringify(block.text)}`
          : block?.type === 'tool_use'
            ? `calls ${block.name} ${JSON.stringify(block.input)}`
            : `${block?.type}`;
      const replaces = message.supersedes?.length ? ` (replaces ${message.supersedes.length})` : '';
      return message.error ? `error ${message.error}` : `model ${what}${replaces}`;
    }
    case 'user': {
      const { content } = message.message;
      if (typeof content === 'string') return `user ${JSON.stringify(content)}`;
      return content
        .map((block) =>
          block.type === 'tool_result'
            ? `result${block.is_error ? ' (error)' : ''} ${JSON.stringify(textOf(block.content))}`
            : block.type === 'text'
              ? `nudge ${JSON.stringify(block.text)}`
              : block.type,
        )
        .join(' + ');
    }
    case 'stream_event':
      return 'stream_event';
    case 'tombstone':
      return 'taken back';
    case 'tool_progress':
      return `progress ${message.tool_name}`;
    case 'result':
      return `end ${message.terminal_reason}${message.is_error ? ' (error)' : ''} ${JSON.stringify(message.result)}`;
    case 'system':
      return systemLine(message);
  }
}

function systemLine(message: Extract<SDKMessage, { type: 'system' }>): string {
  switch (message.subtype) {
    case 'transition':
      return `→ ${message.reason}`;
    case 'api_retry':
      return `retry ${message.attempt}/${message.max_retries} ${message.error_status ?? '-'}`;
    case 'status':
      return `status ${message.status}`;
    case 'informational':
      return `${message.level} ${message.content}`;
    case 'model_fallback':
      return `fallback ${message.original_model} → ${message.fallback_model}`;
    default:
      return message.subtype;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: { type: string; text?: string }) => block.text ?? `[${block.type}]`)
    .join('\n');
}
