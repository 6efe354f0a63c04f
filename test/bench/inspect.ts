/**
 * What an inspector costs. First a real session with and without one, in pairs: see
 * `inspect/real-session.ts`. Then 5,000 steps of a machine with a context of 2.1 to 5.6 MB, with and
 * without one, and with a page that reads, in CPU time: all in one process, one after the other, so
 * that the figures hold on a busy machine, too.
 */
import { request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { assign, createActor, type InspectionEvent, setup } from 'xstate';
import { LiveRun } from '../../src/inspect/live-run.ts';
import { startInspector } from '../../src/inspect/start-inspector.ts';
import { beOtherSide, measureSession, OTHER_SIDE } from './inspect/real-session.ts';

const STEPS = 5_000;
const CONTEXT_BYTES = 4 << 20;
const STEP_US_MAX = 60;
/** MACH-01: what an inspector may add to the time of a real session. */
const SHARE_MAX = 0.2;
const HEAP_MB_MAX = 50;

interface Context {
  readonly messages: readonly { readonly n: number; readonly text: string }[];
  readonly count: number;
}
const messages = Array.from({ length: 400 }, (_, n) => ({
  n,
  text: `${n} `.padEnd(CONTEXT_BYTES / 800, 'lorem ipsum '),
}));
const machine = setup({
  types: {} as { context: Context; events: { type: 'say'; text: string } | { type: 'done' } },
}).createMachine({
  id: 'talk',
  context: { messages, count: 0 },
  initial: 'asking',
  states: {
    asking: {
      on: {
        say: {
          target: 'answering',
          actions: assign(({ context, event }) => ({
            messages:
              context.count % 12 === 0
                ? [...context.messages, { n: context.count, text: event.text.repeat(400) }]
                : context.messages,
            count: context.count + 1,
          })),
        },
      },
    },
    answering: {
      on: {
        say: { target: 'asking', actions: assign({ count: ({ context }) => context.count + 1 }) },
      },
    },
  },
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapMb = () => {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
};
const text = 'a word of the model. ';

/** In portions, as a run has them: between them others may work. */
async function run(inspect: Parameters<typeof createActor>[1] extends infer O ? O : never) {
  const actor = createActor(machine, inspect as never).start();
  let cpuMs = 0;
  for (let n = 0; n < STEPS; n += 50) {
    const begin = process.cpuUsage();
    for (let k = 0; k < 50; k += 1) actor.send({ type: 'say', text });
    const { user, system } = process.cpuUsage(begin);
    cpuMs += (user + system) / 1_000;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { cpuMs, bytes: JSON.stringify(actor.getSnapshot().context).length };
}

function readAll(url: string): () => number {
  let bytes = 0;
  const asked = request(`${url}events`, { agent: false }, (response) => {
    response.on('data', (part: Buffer) => {
      bytes += part.length;
    });
    response.on('error', () => {});
  });
  asked.on('error', () => {});
  asked.end();
  return () => bytes;
}

if (process.argv.includes(OTHER_SIDE)) await beOtherSide();
const session = await measureSession(heapMb);
const list = (ratios: readonly number[]) => ratios.map((one) => one.toFixed(2)).join(' ');
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const added = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`;

await run({}); // warm
const best = async (make: () => Promise<{ cpuMs: number; bytes: number }>) => {
  const runs = [await make(), await make(), await make()];
  return runs.reduce((a, b) => (a.cpuMs < b.cpuMs ? a : b));
};
const bare = await best(() => run({}));
const recorded = await best(() => {
  const live = new LiveRun({ title: 'bench' });
  return run({ inspect: (event: InspectionEvent) => live.inspect(event) });
});

const before = heapMb();
const kept = new LiveRun({ title: 'bench' });
await run({ inspect: (event: InspectionEvent) => kept.inspect(event) });
const heldMb = heapMb() - before;

const inspector = await startInspector(undefined, { environment: {} });
const read = readAll(inspector.url);
await new Promise((resolve) => setTimeout(resolve, 200));
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const seen = await run({ inspect: inspector.inspect });
await new Promise((resolve) => setTimeout(resolve, 1_000));
delay.disable();
await inspector.close();

const naive = process.cpuUsage();
for (let n = 0; n < 20; n += 1) JSON.stringify({ messages });
const naiveUs = process.cpuUsage(naive).user / 20;

const stepUs = ((recorded.cpuMs - bare.cpuMs) / STEPS) * 1_000;
const seenUs = ((seen.cpuMs - bare.cpuMs) / STEPS) * 1_000;
const rows = [
  [
    'a real session of 200 tool turns',
    `${seconds(session.wall.bare)}, CPU ${seconds(session.cpu.bare)}`,
  ],
  [
    '  its time with an inspector, more',
    `${added(session.wall.ratio)} (bound ${SHARE_MAX * 100} %) pairs: ${list(session.wall.ratios)}`,
  ],
  [
    '  its CPU with an inspector, more',
    `${added(session.cpu.ratio)} pairs: ${list(session.cpu.ratios)}`,
  ],
  ['  heap with an inspector, more', `${session.heapMb.toFixed(1)} MB (bound ${HEAP_MB_MAX})`],
  ['  steps of it', String(session.steps)],
  ['context at the end', `${(bare.bytes / 1e6).toFixed(1)} MB`],
  ['steps', String(STEPS)],
  ['a step of the machine alone', `${((bare.cpuMs / STEPS) * 1_000).toFixed(1)} µs`],
  ['recorder, per step', `${stepUs.toFixed(1)} µs (bound ${STEP_US_MAX})`],
  ['the same with a page that reads', `${seenUs.toFixed(1)} µs`],
  [
    'JSON.stringify(context) instead',
    `${naiveUs.toFixed(0)} µs, ${(naiveUs / stepUs).toFixed(0)} times as much`,
  ],
  ['kept: heap of 2,000 steps', `${heldMb.toFixed(1)} MB (bound ${HEAP_MB_MAX})`],
  ['kept: own estimate', `${(kept.list.bytes / 1e6).toFixed(1)} MB`],
  ['on the wire, per step', `${(read() / STEPS).toFixed(0)} bytes`],
  [
    'event loop with the page, p99 / max',
    `${(delay.percentile(99) / 1e6).toFixed(0)} / ${(delay.max / 1e6).toFixed(0)} ms`,
  ],
];
for (const [name, figure] of rows) console.log(`  ${name?.padEnd(38)} ${figure}`);
const isSessionGood = session.wall.ratio < 1 + SHARE_MAX && session.heapMb < HEAP_MB_MAX;
const isGood = isSessionGood && stepUs < STEP_US_MAX && heldMb < HEAP_MB_MAX;
process.exitCode = isGood ? 0 : 1;
