/** A walk from a seed: the same seed, the same walk. */
import { type HookEvent, hookEvents } from '../../services/hooks/types.ts';
import { defaultGates, type Gates } from '../../src/config.ts';
import { type Dice, diceOf } from '../../src/testing/dice.ts';
import { faults } from '../../src/testing/faults.ts';
import type { Reply } from '../../src/testing/script.ts';
import { drawReply, type ReplyWorld, wordsFrom } from './draw-reply.ts';
import {
  type Act,
  hookDeeds,
  hostDeeds,
  type Walk,
  type WalkHook,
  type WalkSettings,
  type WalkTurn,
} from './walk.ts';

/** Seeds of neighbours must not give neighbouring walks. */
const SEED_STRIDE = 1_000_003;

/** @param number of the run among those of its seed, from 0. */
export function drawWalk(seed: number, number: number): Walk {
  const dice = diceOf(seed * SEED_STRIDE + number);
  const settings = drawSettings(dice);
  const world: ReplyWorld = {
    dice,
    faults: faults(dice.between(0, 2 ** 31 - 1), { endless: true }),
    nextId: idsFrom(),
    wantsShape: settings.wantsShape === true,
  };
  const list = (low: number, high: number) =>
    Array.from({ length: dice.between(low, high) }, () => drawReply(world));
  const sideList = (): readonly Reply[] => (dice.chance(0.3) ? list(1, 2) : []);
  return {
    about: `seed ${seed}, run ${number}`,
    replies: list(1, 8),
    compactions: sideList(),
    collapses: sideList(),
    toolSummaries: sideList(),
    ...(dice.chance(0.1) ? { window: dice.between(6_000, 30_000) } : {}),
    ...(dice.chance(0.1) ? { countTokens: dice.between(0, 300_000) } : {}),
    settings,
    hooks: Array.from({ length: dice.chance(0.5) ? dice.between(1, 3) : 0 }, () => drawHook(dice)),
    turns: Array.from({ length: dice.between(1, 3) }, () => drawTurn(dice)),
  };
}

/** Ids that no other reply of the walk has. */
function idsFrom(): () => string {
  let n = 0;
  return () => {
    n += 1;
    return `toolu_w${n}`;
  };
}

function drawSettings(dice: Dice): WalkSettings {
  const maybe = <T>(chance: number, value: () => T) => (dice.chance(chance) ? value() : undefined);
  const given = {
    mode: maybe(0.5, () => dice.pick(['default', 'acceptEdits', 'dontAsk', 'plan'] as const)),
    isPartial: maybe(0.4, () => true as const),
    maxTurns: maybe(0.15, () => dice.between(1, 3)),
    maxBudgetUsd: maybe(0.1, () => dice.pick([0.0001, 0.02, 0.05, 1])),
    maxDurationMs: maybe(0.08, () => dice.pick([1, 60, 300, 1_000])),
    maxOutputTokens: maybe(0.08, () => dice.pick([1_024, 4_000, 64_000])),
    tokenBudget: maybe(0.1, () => dice.pick([50, 500, 5_000])),
    taskBudget: maybe(0.05, () => dice.pick([1_000, 100_000])),
    wantsShape: maybe(0.12, () => true as const),
    hasFallback: maybe(0.2, () => true as const),
    thinking: maybe(0.2, () => dice.pick(['adaptive', 'enabled'] as const)),
    autoCompactWindow: maybe(0.25, () => dice.between(9_000, 24_000)),
    historySnip: maybe(0.08, () => dice.between(2, 6)),
    isBare: maybe(0.08, () => true as const),
    finishesInterrupted: maybe(0.3, () => true as const),
    gates: maybe(0.4, () => drawGates(dice)),
  };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as WalkSettings;
}

/** Whatever gates there are. */
function drawGates(dice: Dice): Partial<Gates> {
  const names = Object.keys(defaultGates) as (keyof Gates)[];
  const turned = names.filter(() => dice.chance(0.3));
  return Object.fromEntries(turned.map((name) => [name, !defaultGates[name]]));
}

/** The events at which a hook has a say come up more often. */
const weights: Readonly<Partial<Record<HookEvent, number>>> = {
  PreToolUse: 6,
  PostToolUse: 3,
  Stop: 6,
  UserPromptSubmit: 2,
  PostToolBatch: 2,
};

function drawHook(dice: Dice): WalkHook {
  const weighted = Object.fromEntries(hookEvents.map((event) => [event, weights[event] ?? 1]));
  return {
    event: dice.weighted(weighted) as HookEvent,
    does: dice.pick(hookDeeds),
    times: dice.pick([1, 1, 2, 99]),
    ...(dice.chance(0.06) ? { isCommand: true } : {}),
    ...(dice.chance(0.2) ? { failsClosed: true } : {}),
  };
}

function drawTurn(dice: Dice): WalkTurn {
  const prompt = dice.weighted({ plain: 10, long: 2, odd: 2, compact: 1, blank: 0.3, budget: 0.5 });
  return {
    prompt: {
      plain: `do it ${dice.between(0, 99)}`,
      long: `read this: ${'lorem ipsum '.repeat(dice.between(100, 2_500))}`,
      odd: `do it ${wordsFrom(dice)}`,
      compact: '/compact keep the numbers',
      blank: '  ',
      budget: 'do it +1k',
    }[prompt],
    acts: Array.from({ length: dice.chance(0.35) ? dice.between(1, 2) : 0 }, () => drawAct(dice)),
  };
}

const drawAct = (dice: Dice): Act => ({
  does: dice.weighted({
    ...Object.fromEntries(hostDeeds.map((deed) => [deed, 1])),
    ...{ interrupt: 5, enqueue: 4, leave: 3, kill: 4, pause: 3, close: 0.5 },
  }) as Act['does'],
  afterMessages: dice.between(0, 12),
  afterMs: dice.pick([0, 0, 1, 5, 20, 60]),
});
