/**
 * A session that is stopped between its turns and gone on with by another process asks for the very
 * same as one that was never stopped: what stages have made of the past is read again, and what was
 * learnt of sizes is known again, so that the next decision is the same, too.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
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
import { collapsing, findings, notesOf, onceAllStaged } from '../../tools/collapses.ts';
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

/** A server, a folder, and the processes that go on with the session one after the other. */
async function begin(session: Pick<Session, 'script' | 'config'>) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-resumed-')));
  const [cwd, home] = [join(root, 'work'), join(root, 'home')];
  mkdirSync(cwd);
  mkdirSync(home);
  const server = createScriptedServer(session.script(home));
  await server.listen();
  const place = { cwd, home, server };
  let isNew = true;
  const open = async () => {
    const opened = await openRequested(isNew ? { sessionId: SESSION } : { resume: SESSION }, place);
    isNew = false;
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
  const end = async () => {
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  };
  return { root, home, server, open, end };
}

/** @param isStopped a process for each turn. */
async function play(session: Session, isStopped: boolean): Promise<Played> {
  const { root, server, open, end } = await begin(session);
  const said: SDKMessage[] = [];
  let engine = await open();
  try {
    for (const [turn, prompt] of session.prompts.entries()) {
      if (isStopped && turn > 0) {
        await engine.close();
        engine = await open();
      }
      for await (const one of engine.submitMessage(prompt)) said.push(one);
      session.between?.(turn, engine);
    }
  } finally {
    await engine.close();
    await end();
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

/** What a kill leaves of the file: the last line of this type is the last that was written. */
function cutBehind(home: string, type: string) {
  const name = readdirSync(home, { recursive: true })
    .map(String)
    .find((file) => file.endsWith('.jsonl'));
  const file = join(home, name ?? '');
  const lines = readFileSync(file, 'utf8').split('\n');
  const at = lines.findLastIndex((line) => line !== '' && JSON.parse(line).type === type);
  expect(at, `a line of type ${type}`).toBeGreaterThan(0);
  expect(lines.slice(at + 1).join(''), 'a request was made of it').toContain('"read-as"');
  writeFileSync(file, `${lines.slice(0, at + 1).join('\n')}\n`);
}

interface Killed extends Session {
  /** The line that says what was changed. */
  readonly line: string;
  /** What the model reads since then. */
  readonly mark: string;
  /** Thoughts behind it in the file that nobody has cut. */
  readonly kept: readonly string[];
}
/** A process for each prompt. @returns the thoughts in the last request of each. */
async function thoughtsOf({ line, mark, ...session }: Killed, isKilled: boolean) {
  const { home, server, open, end } = await begin(session);
  const thoughts: (readonly string[])[] = [];
  try {
    for (const [turn, prompt] of session.prompts.entries()) {
      const isLast = turn === session.prompts.length - 1;
      if (isKilled && turn === session.prompts.length - 2) cutBehind(home, line);
      const engine = await open();
      try {
        for await (const _ of engine.submitMessage(prompt));
        session.between?.(turn, engine);
      } finally {
        await engine.close();
      }
      const body = JSON.stringify(server.requestsOf('loop').at(-1)?.body.messages);
      thoughts.push(body.match(/thought \d+/g) ?? []);
      if (isLast) expect(body).toContain(mark);
    }
    expect(server.violations).toEqual([]);
    return thoughts;
  } finally {
    await end();
  }
}

const killed: Readonly<Record<string, Killed>> = {
  'a collapse': {
    line: 'collapse-committed',
    mark: '<collapsed>',
    prompts: ['dig', 'and then?', 'what was found?'],
    script: (home) => {
      serial = 0;
      const replies = [...digs(0, 7), answers('dug'), answers('this'), answers('that')];
      return { replies: replies.map((step) => onceAllStaged(home, step)), collapses: [findings] };
    },
    config: () => collapsing(),
    kept: ['thought 8'],
  },
  'a snip': {
    line: 'snip',
    mark: 'finding-3',
    prompts: ['dig', 'dig on', 'and then?', 'what was found?'],
    script: () => {
      serial = 0;
      return {
        replies: [
          ...[...digs(0, 4), answers('one'), ...digs(4, 5), answers('two')],
          ...[answers('this'), answers('that')],
        ],
      };
    },
    config: () => ({
      ...collapsing({ gates: { contextCollapse: false } }),
      autoCompactWindow: 200_000,
    }),
    between: (turn, engine) => {
      if (turn === 0) engine.snip(engine.messages[7]?.uuid ?? '');
    },
    kept: ['thought 6', 'thought 7'],
  },
};

describe.each(Object.entries(killed))('a process that is killed behind %s', (_, session) => {
  it('… before a request was made of it: no thought behind it goes back, later ones do', async () => {
    const thoughts = await thoughtsOf(session, true);
    const [first, second] = thoughts.slice(-2);
    expect(first).toEqual([]); // thought of something else than what stands there now
    expect(second).toHaveLength(1);
  });

  it('… after it: what was thought since then goes back', async () => {
    const thoughts = await thoughtsOf(session, false);
    const [first, second] = thoughts.slice(-2);
    expect(first).toEqual(session.kept);
    expect(second).toHaveLength(session.kept.length + 1);
  });
});

it('a line of how it is read says what is new, and there is none when nothing is', async () => {
  const { home, open, end } = await begin({
    script: () => {
      serial = 0;
      const busy = httpError(529, 'overloaded_error', 'Overloaded');
      return { replies: [...digs(0, 3), busy, ...digs(3, 4), answers('done')] };
    },
    config: () => collapsing(),
  });
  try {
    const engine = await open();
    for await (const _ of engine.submitMessage('dig'));
    await engine.close();
    const lines = notesOf(home, 'read-as').map(({ learnt, sent }) => ({ learnt, sent }));
    const texts = (key: 'learnt' | 'sent') =>
      lines.flatMap((line) => (line[key] === undefined ? [] : [JSON.stringify(line[key])]));
    expect(lines).toHaveLength(10); // five requests and their answers; the second try says nothing
    expect(texts('sent')).toHaveLength(5);
    for (const key of ['learnt', 'sent'] as const)
      expect(new Set(texts(key)).size).toBe(texts(key).length);
    for (const line of lines) expect(Object.values(line)).not.toEqual([undefined, undefined]);
  } finally {
    await end();
  }
});
