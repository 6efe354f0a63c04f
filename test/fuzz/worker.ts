/**
 * One process of the fault walk. Walks what it is told to, several beside each other, and says a
 * line of JSON for each walk that is through. Ends by itself: a timer, a socket or a process that
 * is left keeps it alive, and that is a failure of its own.
 */
import { readFileSync } from 'node:fs';
import { drawWalk } from './draw.ts';
import type { Problem } from './judge.ts';
import { IMPATIENT_MS, playWalk } from './play.ts';
import { cutDown } from './shrink.ts';
import type { Walk } from './walk.ts';

export type Order =
  | {
      readonly kind: 'walks';
      readonly seed: number;
      readonly numbers: readonly number[];
      readonly beside: number;
    }
  /** One walk, alone, as often as it takes to be sure. */
  | { readonly kind: 'walk'; readonly file: string; readonly times: number }
  | { readonly kind: 'cut down'; readonly file: string; readonly name: string };

export type Said =
  | {
      readonly type: 'walked';
      readonly number: number;
      readonly ms: number;
      readonly reasons: readonly string[];
      readonly problems: readonly Problem[];
      readonly walk?: Walk;
    }
  /** An error that nobody has caught, while these were walked. */
  | { readonly type: 'stray'; readonly detail: string; readonly numbers: readonly number[] }
  | { readonly type: 'smaller'; readonly walk: Walk; readonly tries: number }
  | { readonly type: 'done'; readonly left: readonly string[] };

const say = (said: Said) => process.stdout.write(`${JSON.stringify(said)}\n`);

/** Walks at work. */
const active = new Set<number>();
/** Errors of a walk that is walked alone. */
const strays: string[] = [];
const stray = (what: string) => (error: unknown) => {
  const detail = `${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  strays.push(detail);
  say({ type: 'stray', detail, numbers: [...active] });
};
process.on('unhandledRejection', stray('unhandled rejection'));
process.on('uncaughtException', stray('uncaught exception'));
process.on('warning', stray('warning'));

async function walkMany(order: Extract<Order, { kind: 'walks' }>): Promise<void> {
  const numbers = [...order.numbers];
  const work = async () => {
    for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) {
      active.add(number);
      const walk = drawWalk(order.seed, number);
      const { problems, reasons, ms } = await playWalk(walk);
      active.delete(number);
      const failed = problems.length > 0 ? { walk } : {};
      say({ type: 'walked', number, ms: Math.round(ms), reasons, problems, ...failed });
    }
  };
  await Promise.all(Array.from({ length: order.beside }, work));
}

/** Errors that come a moment later belong to the walk, too. */
const AFTERMATH_MS = 60;

/** Alone in the process: all that goes wrong is the walk's. */
async function walkAlone(walk: Walk, turnMs?: number): Promise<readonly Problem[]> {
  strays.length = 0;
  const { problems } = await playWalk(walk, turnMs);
  await new Promise((resolve) => setTimeout(resolve, AFTERMATH_MS));
  return [...problems, ...strays.map((detail) => ({ name: 'stray', detail }))];
}

async function obey(order: Order): Promise<void> {
  if (order.kind === 'walks') return walkMany(order);
  const walk = JSON.parse(readFileSync(order.file, 'utf8')) as Walk;
  if (order.kind === 'walk') {
    for (let n = 0; n < order.times; n += 1) {
      const startedAt = performance.now();
      const problems = await walkAlone(walk);
      const ms = Math.round(performance.now() - startedAt);
      say({ type: 'walked', number: n, ms, reasons: [], problems });
      if (problems.length > 0) return;
    }
    return;
  }
  const fails = async (candidate: Walk) =>
    (await walkAlone(candidate, IMPATIENT_MS)).some(({ name }) => name === order.name);
  const { walk: smaller, tries } = await cutDown(walk, fails);
  say({ type: 'smaller', walk: smaller, tries });
}

/** What keeps a process alive, but for the pipes to its parent. */
const leftOver = () =>
  process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|FSReq|Immediate/.test(name));

/** Above every wait that may run on for a moment after a session has ended. */
const QUIET_MS = 12_000;

await obey(JSON.parse(process.argv[2] ?? '') as Order);
const until = performance.now() + QUIET_MS;
while (leftOver().length > 1 && performance.now() < until) {
  await new Promise((resolve) => setTimeout(resolve, 50)); // this timer is the one
}
say({ type: 'done', left: leftOver().slice(1) });
process.exitCode = 0;
