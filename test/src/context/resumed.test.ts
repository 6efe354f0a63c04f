/**
 * A session that is stopped between its turns and gone on with by another process asks for the very
 * same as one that was never stopped: what stages have made of the past is read again, and what was
 * learnt of sizes is known again, so that the next decision is the same, too.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Prompt, QueryEngineConfig } from '../../../src/config.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { openRequested } from '../../../src/resume.ts';
import { httpError, message, thinking, toolUse } from '../../../src/testing/index.ts';
import type { MessageReply, Script, ScriptedBlock, Step } from '../../../src/testing/script.ts';
import { createScriptedServer } from '../../../src/testing/scripted-server.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { collapsing, findings, onceAllStaged } from '../../tools/collapses.ts';
import { hostTool, pixel } from '../../tools/host-tool.ts';
import { engineFor } from '../../tools/story.ts';

/** Its thinking is bound to all that stands before it. */
const MODEL = 'claude-opus-4-7';
const TEST_MS = 90_000;
const SESSION = '77777777-7777-4777-8777-777777777777';

interface Session {
  readonly script: (home: string) => Script;
  readonly prompts: readonly Prompt[];
  readonly config: () => Partial<QueryEngineConfig>;
  /** Between turns, in the process that ends with the one before. */
  readonly between?: (turn: number, engine: QueryEngine) => void;
}
interface Played {
  /** Of the loop, as they went over the wire. */
  readonly bodies: readonly string[];
  readonly edits: readonly string[];
  readonly violations: readonly unknown[];
}

/** @param isStopped a process for each turn. */
async function play(session: Session, isStopped: boolean): Promise<Played> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-resumed-')));
  const [cwd, home] = [join(root, 'work'), join(root, 'home')];
  mkdirSync(cwd);
  mkdirSync(home);
  const server = createScriptedServer(session.script(home));
  await server.listen();
  const place = { cwd, home, server };
  const said: SDKMessage[] = [];
  const open = async (turn: number) => {
    const opened = await openRequested(
      turn === 0 ? { sessionId: SESSION } : { resume: SESSION },
      place,
    );
    return engineFor(
      {
        options: { model: MODEL },
        config: () => ({
          ...opened,
          thinkingConfig: { type: 'adaptive' },
          // A note says from when to when it reports.
          deps: { now: () => new Date('2026-11-30T12:00:00Z') },
          ...session.config(),
        }),
      },
      place,
    );
  };
  let engine = await open(0);
  try {
    for (const [turn, prompt] of session.prompts.entries()) {
      if (isStopped && turn > 0) {
        await engine.close();
        engine = await open(turn);
      }
      for await (const one of engine.submitMessage(prompt)) said.push(one);
      session.between?.(turn, engine);
    }
  } finally {
    await engine.close();
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
  const bare = (text: string) =>
    text
      .replaceAll(root, '')
      .replaceAll(root.replaceAll(/[^a-zA-Z0-9]/g, '-'), '')
      .replaceAll(/collapsed-[0-9a-f-]+\.txt/g, 'collapsed.txt');
  return {
    bodies: server.requestsOf('loop').map(({ body }) => bare(JSON.stringify(body))),
    edits: said.flatMap((one) =>
      one.type === 'system' && one.subtype === 'context_edit' ? [one.stage] : [],
    ),
    violations: server.violations,
  };
}

/** Where two texts part, with what is around it. */
function differenceOf(one: string, other: string) {
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  const around = (text: string) => text.slice(Math.max(0, at - 200), at + 200);
  return { live: around(one), stopped: around(other) };
}

/** Both ways. @returns what was done to the past, told by the one that was never stopped. */
async function bothWays(session: Session): Promise<readonly string[]> {
  const live = await play(session, false);
  const stopped = await play(session, true);
  expect(live.violations).toEqual([]);
  expect(stopped.violations).toEqual([]);
  expect(stopped.bodies.length).toBe(live.bodies.length);
  for (const [at, body] of live.bodies.entries())
    expect(differenceOf(body, stopped.bodies[at] ?? ''), `request ${at}`).toBeUndefined();
  expect(stopped.edits).toEqual(live.edits);
  return live.edits;
}

let serial = 0;
const thoughtful = (...blocks: readonly ScriptedBlock[]): MessageReply =>
  message([thinking(`thought ${++serial}`), ...blocks]);
const answers = (words: string) => thoughtful({ type: 'text', text: words });
const digs = (from: number, to: number): readonly Step[] =>
  Array.from({ length: to - from }, (_, n) => thoughtful(toolUse('Dig', { n: from + n })));

const collapses: Session = {
  script: (home) => {
    serial = 0;
    return {
      replies: [
        ...digs(0, 8),
        answers('first part'),
        ...digs(8, 12),
        answers('second part'),
        ...digs(12, 15),
        answers('third part'),
        answers('and that is all'),
      ].map((step) => onceAllStaged(home, step)),
      collapses: [findings],
    };
  },
  prompts: ['dig', 'dig on', 'and on', 'what was found?'],
  config: () => collapsing(),
};

describe('a session that is stopped after each turn asks for the same as one that is not', () => {
  it(
    '… with collapses',
    async () => {
      const edits = await bothWays(collapses);
      expect(edits.filter((stage) => stage === 'collapse').length).toBeGreaterThan(1);
    },
    TEST_MS,
  );

  it(
    '… with snips: of the host, and above a number of messages',
    async () => {
      const edits = await bothWays({
        script: () => {
          serial = 0;
          return {
            replies: [
              ...digs(0, 4),
              answers('one'),
              ...digs(4, 8),
              answers('two'),
              ...digs(8, 12),
              answers('three'),
              ...digs(12, 16),
              answers('four'),
            ],
          };
        },
        prompts: ['dig', 'dig on', 'and on', 'and on'],
        config: () => ({
          ...collapsing({ gates: { contextCollapse: false } }),
          autoCompactWindow: 200_000,
          historySnip: { maxMessages: 40 },
        }),
        between: (turn, engine) => {
          if (turn === 0) engine.snip(engine.messages[7]?.uuid ?? '');
        },
      });
      expect(edits.filter((stage) => stage === 'snip').length).toBeGreaterThan(1);
    },
    TEST_MS,
  );

  it(
    '… with results that were cleared, cut, or are in a file',
    async () => {
      const [grep, bash, look] = ['Grep', 'Bash', 'Look'];
      const use = (name: string, n: number) => thoughtful(toolUse(name, { n }));
      const edits = await bothWays({
        script: () => {
          serial = 0;
          return {
            replies: [
              ...[0, 1, 2, 3, 4, 5, 6].map((n) => use(n === 3 ? look : n === 1 ? bash : grep, n)),
              answers('one'),
              ...[7, 8, 9, 10, 11, 12].map((n) => use(n === 8 ? bash : grep, n)),
              answers('two'),
              ...[13, 14, 15].map((n) => use(grep, n)),
              answers('three'),
            ],
          };
        },
        prompts: ['look', 'look on', 'and on'],
        config: () => ({
          ...collapsing({ gates: { contextCollapse: false } }),
          autoCompactWindow: 400_000,
          tools: [
            hostTool(grep, ({ n }) => `hit ${String(n)} in a line of words\n`.repeat(1_400)),
            hostTool(bash, ({ n }) => `output ${String(n)} and words of it\n`.repeat(1_200)),
            hostTool(look, ({ n }) => `sight ${String(n)} and words of it\n`.repeat(2_500)),
          ],
        }),
      });
      expect(new Set(edits)).toEqual(new Set(['tool_result_budget', 'microcompact']));
      expect(edits.filter((stage) => stage === 'microcompact').length).toBeGreaterThan(1);
    },
    TEST_MS,
  );

  it(
    '… with an image that was refused',
    async () => {
      const edits = await bothWays({
        script: () => {
          serial = 0;
          return {
            replies: [
              ...digs(0, 2),
              answers('one'),
              httpError(400, 'invalid_request_error', 'Could not process image'),
              ...digs(2, 4),
              answers('two'),
              answers('three'),
            ],
          };
        },
        prompts: ['dig', [{ type: 'text', text: 'and this?' }, pixel], 'go on'],
        config: () => collapsing(),
      });
      expect(edits).toContain('media_strip');
    },
    TEST_MS,
  );

  it(
    '… with all of it, in any order',
    async () => {
      const edits = await bothWays({
        ...collapses,
        script: (home) => {
          const script = collapses.script(home);
          const refused = httpError(400, 'invalid_request_error', 'Could not process image');
          const replies = script.replies ?? [];
          const at = 13; // of the third turn, before its first reply
          return {
            ...script,
            replies: [...replies.slice(0, at + 1), refused, ...replies.slice(at + 1)],
          };
        },
        prompts: ['dig', 'dig on', [{ type: 'text', text: 'and this?' }, pixel], 'what was found?'],
        between: (turn, engine) => {
          if (turn === 2) engine.snip(engine.messages.at(-6)?.uuid ?? '');
        },
      });
      expect(new Set(edits)).toEqual(new Set(['collapse', 'media_strip', 'snip']));
    },
    TEST_MS,
  );
});
