/**
 * Cuts a walk that fails down to what it fails with: leaves things out as long as it still fails in
 * the same way. Nothing random: the same walk is cut down the same way.
 */
import type { Reply } from '../../src/testing/script.ts';
import type { Walk } from './walk.ts';

/** A failure may need luck with the moment: so often a candidate is given its chance. */
const CHANCES = 2;
/** A walk that takes long to fail is not cut down for ever. */
const BUDGET_MS = 240_000;

/** @param fails in the same way. @returns 0 tries: alone it does not fail. */
export async function cutDown(
  walk: Walk,
  fails: (candidate: Walk) => Promise<boolean>,
): Promise<{ readonly walk: Walk; readonly tries: number }> {
  const until = performance.now() + BUDGET_MS;
  let best = walk;
  let tries = 0;
  const stillFails = async (candidate: Walk) => {
    for (let chance = 0; chance < CHANCES && performance.now() < until; chance += 1) {
      tries += 1;
      if (await fails(candidate)) return true;
    }
    return false;
  };
  if (!(await stillFails(walk))) return { walk, tries: 0 };
  for (let before = ''; before !== JSON.stringify(best); ) {
    before = JSON.stringify(best);
    for (const smaller of candidatesOf(best)) {
      // Made from the best of when the round began: it may be no smaller any more.
      const candidate = smaller(best);
      if (candidate === undefined || sizeOf(candidate) >= sizeOf(best)) continue;
      if (await stillFails(candidate)) best = candidate;
    }
  }
  return { walk: best, tries };
}

const sizeOf = (walk: Walk) => JSON.stringify(walk).length;

/** `undefined`: there is nothing to leave out here any more. */
type Smaller = (walk: Walk) => Walk | undefined;

const lists = [
  'turns',
  'hooks',
  'replies',
  'compactions',
  'collapses',
  'toolSummaries',
] as const satisfies readonly (keyof Walk)[];

/** The large parts first. */
function* candidatesOf(walk: Walk): Generator<Smaller> {
  for (const name of lists) {
    const { length = 0 } = walk[name] ?? [];
    for (let size = length; size >= 1; size = Math.floor(size / 2)) {
      for (let at = length - size; at >= 0; at -= size) yield without(name, at, size);
    }
  }
  for (const key of Object.keys(walk.settings)) yield withoutSetting(key);
  for (const key of Object.keys(walk.settings.gates ?? {})) yield withoutGate(key);
  yield ({ window: _, ...rest }) => rest;
  yield ({ countTokens: _, ...rest }) => rest;
  for (const [at, turn] of walk.turns.entries()) {
    for (const act of turn.acts.keys()) yield withoutAct(at, act);
    yield inTurn(at, (one) => ({ ...one, prompt: 'do it' }));
  }
  for (const name of ['replies', 'compactions'] as const) {
    for (const [at, reply] of (walk[name] ?? []).entries()) {
      for (const smaller of smallerReplies(reply)) yield inReply(name, at, smaller);
    }
  }
}

const cut = <T>(list: readonly T[], at: number, size = 1): readonly T[] => [
  ...list.slice(0, at),
  ...list.slice(at + size),
];

const without =
  (name: (typeof lists)[number], at: number, size: number): Smaller =>
  (walk) => {
    const list = walk[name];
    if (!list || at >= list.length) return undefined;
    return { ...walk, [name]: cut<unknown>(list, at, size) };
  };

const withoutSetting =
  (key: string): Smaller =>
  (walk) => ({
    ...walk,
    settings: Object.fromEntries(Object.entries(walk.settings).filter(([name]) => name !== key)),
  });

const withoutGate =
  (key: string): Smaller =>
  ({ settings, ...walk }) => {
    const gates = Object.entries(settings.gates ?? {}).filter(([name]) => name !== key);
    return { ...walk, settings: { ...settings, gates: Object.fromEntries(gates) } };
  };

const inTurn =
  (at: number, change: (turn: Walk['turns'][number]) => Walk['turns'][number]): Smaller =>
  (walk) => ({ ...walk, turns: walk.turns.map((turn, n) => (n === at ? change(turn) : turn)) });

const withoutAct = (at: number, act: number): Smaller =>
  inTurn(at, (turn) => ({ ...turn, acts: cut(turn.acts, act) }));

const inReply =
  (name: 'replies' | 'compactions', at: number, change: (reply: Reply) => Reply): Smaller =>
  (walk) => ({
    ...walk,
    [name]: (walk[name] ?? []).map((reply, n) => (n === at ? change(reply) : reply)),
  });

function smallerReplies(reply: Reply): readonly ((reply: Reply) => Reply)[] {
  const once = (one: Reply): Reply => {
    const { times: _, ...rest } = one;
    return rest;
  };
  if (reply.kind !== 'message') return [once];
  const fields = ['fault', 'inserts', 'pings', 'omit', 'deltaDelayMs', 'usage', 'stopReason'];
  return [
    once,
    ...fields.map(
      (field) => (one: Reply) =>
        Object.fromEntries(Object.entries(one).filter(([name]) => name !== field)) as typeof one,
    ),
    ...reply.content.map(
      (_, at) => (one: Reply) =>
        one.kind === 'message' ? { ...one, content: cut(one.content, at) } : one,
    ),
    ...reply.content.map((_, at) => (one: Reply) => withShortBlock(one, at)),
  ];
}

/** Words of no meaning, a call without its extras. */
function withShortBlock(reply: Reply, at: number): Reply {
  if (reply.kind !== 'message') return reply;
  const content = reply.content.map((block, n) => {
    if (n !== at) return block;
    if (block.type === 'text') return { ...block, text: 'x', pieces: 1 };
    if (block.type === 'tool_use' && block.input) {
      const { does = 'ok', asked } = block.input;
      return { ...block, input: does === 'ok' && asked === undefined ? {} : { does } };
    }
    return block;
  });
  return { ...reply, content };
}
