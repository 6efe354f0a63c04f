/**
 * Sessions of several processes without the processes: a crash is a copy of the home as it was at
 * that moment, for everything that a killed process leaves behind is in its files.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Prompt } from '../../../src/config.ts';
import { engineFromOptions, type Options } from '../../../src/options.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import type { ReceivedRequest } from '../../../src/testing/received-request.ts';
import type { Script } from '../../../src/testing/script.ts';
import { createScriptedServer } from '../../../src/testing/scripted-server.ts';
import type { SDKMessage, SDKResultMessage } from '../../../src/wire.ts';
import { lineOf } from '../../tools/story.ts';

export interface Run {
  readonly script: Script;
  readonly prompts?: readonly (Prompt | { readonly prompt: Prompt; readonly uuid: string })[];
  readonly options?: Options;
  /** Default: the place's own. */
  readonly home?: string;
  readonly during?: (message: SDKMessage, engine: QueryEngine) => void | Promise<void>;
  /** Instead of the prompts. */
  readonly drive?: (engine: QueryEngine) => AsyncIterable<SDKMessage>;
  /** With the engine, before it is closed. */
  readonly finally?: (engine: QueryEngine) => void | Promise<void>;
}

export interface Ran {
  readonly sessionId: string;
  readonly messages: readonly SDKMessage[];
  readonly lines: readonly string[];
  readonly results: readonly SDKResultMessage[];
  readonly last: SDKResultMessage;
  readonly requests: readonly ReceivedRequest[];
}

/** A folder to work in, and homes; all gone after `close`. */
export function openPlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-resume-')));
  const cwd = join(root, 'work');
  const home = join(root, 'home');
  mkdirSync(cwd);
  mkdirSync(home);
  let crashes = 0;
  return {
    cwd,
    home,
    run: (run: Run) => runIn(cwd, run.home ?? home, run),
    /** What is on the disk now, as if every process had been killed. @returns another home. */
    crash(from: string = home): string {
      crashes += 1;
      const copy = join(root, `crash-${crashes}`);
      cpSync(from, copy, { recursive: true });
      for (const file of filesIn(copy)) if (/\/lock\.\d+$/.test(file)) rmSync(file);
      return copy;
    },
    close: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));

/** Lines of the only session, or of a named one. */
export function linesOf(home: string, sessionId = ''): readonly Record<string, unknown>[] {
  const file = filesIn(home).find((name) => name.endsWith(`${sessionId}.jsonl`));
  if (!file) return [];
  const text = readFileSync(file, 'utf8').trimEnd();
  return text.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function runIn(cwd: string, home: string, run: Run): Promise<Ran> {
  const server = createScriptedServer(run.script);
  await server.listen();
  const messages: SDKMessage[] = [];
  try {
    const engine = await engineFromOptions(
      {
        cwd,
        model: 'claude-sonnet-4-5',
        permissionMode: 'bypassPermissions',
        allowDangerouslySkipPermissions: true,
        settingSources: [],
        ...run.options,
      },
      {
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_API_KEY: 'a key of no value',
        ESCAPEMENT_HOME: home,
        ESCAPEMENT_RETRY_BASE_MS: '5',
        PATH: process.env.PATH ?? '',
        HOME: home,
      },
    );
    try {
      for await (const message of run.drive?.(engine) ?? turns(engine, run)) {
        messages.push(message);
        await run.during?.(message, engine);
      }
      await run.finally?.(engine);
    } finally {
      await engine.close();
    }
    const [broken] = server.violations;
    if (broken) throw new Error(`illegal request: ${broken.rule}: ${broken.message}`);
    const results = messages.filter((message) => message.type === 'result');
    return {
      sessionId: engine.sessionId,
      messages,
      lines: messages.map(lineOf),
      results,
      last: results.at(-1) as SDKResultMessage,
      requests: server.requestsOf('loop'),
    };
  } finally {
    await server.close();
  }
}

async function* turns(engine: QueryEngine, { prompts = ['do it'] }: Run) {
  for (const one of prompts) {
    const isNamed = typeof one === 'object' && 'uuid' in one;
    yield* isNamed
      ? engine.submitMessage(one.prompt, { uuid: one.uuid })
      : engine.submitMessage(one as Prompt);
  }
}

/** The conversation of a request: one line a block. */
export function conversationOf(request: ReceivedRequest | undefined): readonly string[] {
  const messages = (request?.body.messages ?? []) as readonly {
    role: string;
    content: string | readonly Record<string, unknown>[];
  }[];
  return messages.flatMap(({ role, content }) => {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    return blocks.flatMap((block) => {
      const words = String(block.text ?? '');
      if (words.startsWith('<context>')) return [];
      if (block.type === 'tool_use') return [`${role} calls ${String(block.name)}`];
      if (block.type !== 'tool_result') return [`${role}: ${words}`];
      const said = block.content as string | readonly { text?: string }[];
      const text = typeof said === 'string' ? said : said.map((part) => part.text).join('');
      return [`result${block.is_error ? ' (error)' : ''}: ${text}`];
    });
  });
}
