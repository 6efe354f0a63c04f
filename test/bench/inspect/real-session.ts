/**
 * MACH-01 over a real session: the engine as it comes, 200 tool turns over HTTP against the scripted
 * server, with and without an inspector and a page that reads. In pairs, in alternating order, so
 * that what else the machine does meets both. Server and page are a process of their own: what is
 * measured is the process of the run and no other.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startInspector } from '../../../src/inspect/start-inspector.ts';
import { engineFromOptions } from '../../../src/options.ts';
import {
  computed,
  message,
  say,
  startScriptedServer,
  text,
  toolUse,
} from '../../../src/testing/index.ts';

const TURNS = 200;
/** Of the text before each call: 2,000 in all. */
const DELTAS = 10;
/** Faster than any model speaks. */
const DELTA_MS = 10;
/** What one call reads: 5 MB in all. */
const FILE_BYTES = 25_000;
const PAIRS = 3;
/** For the whole of a child's answer. */
const ANSWER_MS = 60_000;

/** Argument by which this bench becomes the other process. */
export const OTHER_SIDE = '--other-side';

type ToOther = { readonly serve: string } | { readonly look: string };

const fileAt = (cwd: string, n: number) => path.join(cwd, `file-${n}.txt`);

/** The world of the run: its model, and who looks at its page. */
export async function beOtherSide(): Promise<void> {
  const tell = (url: string) => process.send?.({ url });
  process.on('message', async (asked: ToOther) => {
    if ('look' in asked) {
      request(`${asked.look}events`, { agent: false }, (page) => {
        page.once('data', () => tell(asked.look));
        page.on('error', () => {});
      })
        .on('error', () => {})
        .end();
      return;
    }
    let turn = 0;
    const words = 'I look into the next file, since what I know is not enough. '.repeat(2);
    const call = () =>
      message([
        text(words, { pieces: DELTAS, deltaDelayMs: DELTA_MS }),
        toolUse('Read', { file_path: fileAt(asked.serve, turn++) }),
      ]);
    const server = await startScriptedServer({
      replies: [computed(call, { times: TURNS }), say('done')],
    });
    tell(server.url);
  });
  await once(process, 'disconnect');
  process.exit(0);
}

async function answerOf(child: ChildProcess, asked: ToOther): Promise<string> {
  const answered = once(child, 'message', { signal: AbortSignal.timeout(ANSWER_MS) });
  child.send(asked);
  const [{ url }] = (await answered) as [{ url: string }];
  return url;
}

interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly heapMb: number;
  readonly steps: number;
}

async function play(isInspected: boolean, heapMb: () => number): Promise<Measured> {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'escapement-bench-')));
  const [cwd, home] = [path.join(root, 'work'), path.join(root, 'home')];
  mkdirSync(cwd);
  for (let n = 0; n < TURNS; n += 1) {
    const line = (at: number) => `line ${at} of file ${n}: lorem ipsum dolor sit amet\n`;
    const lines = Array.from({ length: Math.ceil(FILE_BYTES / 50) }, (_, at) => line(at));
    writeFileSync(fileAt(cwd, n), lines.join(''));
  }
  const child = fork(process.argv[1] ?? '', [OTHER_SIDE]);
  try {
    const url = await answerOf(child, { serve: cwd });
    const engine = await engineFromOptions(
      { cwd, settingSources: [], model: 'claude-sonnet-4-5', maxTurns: TURNS + 10 },
      {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'a key of no value',
        ESCAPEMENT_HOME: home,
        PATH: process.env.PATH,
      },
    );
    const inspector = isInspected ? await startInspector(engine, { environment: {} }) : undefined;
    if (inspector) await answerOf(child, { look: inspector.url });
    let steps = 0;
    const before = heapMb();
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    let reason = '';
    for await (const said of engine.submitMessage('Read all of it.'))
      if (said.type === 'result') reason = said.terminal_reason;
    const wallMs = performance.now() - began;
    const { user, system } = process.cpuUsage(cpu);
    if (reason !== 'completed') throw new Error(`the session ended as ${reason}`);
    const grown = heapMb() - before;
    if (inspector)
      for await (const line of inspector.recording())
        if (line.includes('"kind":"step"')) steps += 1;
    await engine.close();
    await inspector?.close();
    return { wallMs, cpuMs: (user + system) / 1_000, heapMb: grown, steps };
  } finally {
    child.disconnect();
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What else the machine does only ever adds. */
const least = (all: readonly Measured[], of: (one: Measured) => number) => Math.min(...all.map(of));
const middle = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** @returns times of the fastest of each side, and the ratios of all pairs. */
export async function measureSession(heapMb: () => number) {
  await play(false, heapMb); // warm
  const bare: Measured[] = [];
  const seen: Measured[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    for (const isInspected of pair % 2 === 0 ? [false, true] : [true, false]) {
      (isInspected ? seen : bare).push(await play(isInspected, heapMb));
    }
  }
  const ratios = (of: (one: Measured) => number) =>
    seen.map((one, at) => of(one) / of(bare[at] as Measured));
  const compared = (of: (one: Measured) => number) => ({
    ...{ bare: least(bare, of), ratio: least(seen, of) / least(bare, of), ratios: ratios(of) },
  });
  const mid = (all: readonly Measured[], of: (one: Measured) => number) => middle(all.map(of));
  return {
    steps: seen[0]?.steps ?? 0,
    wall: compared((one) => one.wallMs),
    cpu: compared((one) => one.cpuMs),
    heapMb: mid(seen, (one) => one.heapMb) - mid(bare, (one) => one.heapMb),
  };
}
