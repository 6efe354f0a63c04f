/** The cheapest ways through a picture of steps: to each transition, and from there to an end. */
import type { AnyMachineSnapshot } from 'xstate';
import type { Explored, PathStep, Step, TestPath } from './cover-transitions.ts';

interface Wishes {
  readonly wanted: readonly string[];
  readonly prefers: ((snapshot: AnyMachineSnapshot) => boolean) | undefined;
  readonly nameEnd: (snapshot: AnyMachineSnapshot) => string;
  readonly isUsual: (step: PathStep) => boolean;
}

/** Cheapest first: numbers are small, so that a list for each of them is a queue. */
class Queue {
  readonly #byCost: string[][] = [];
  push(key: string, cost: number): void {
    this.#byCost[cost] ??= [];
    this.#byCost[cost].push(key);
  }
  /** Each key with its cost. What is pushed on the way is seen, too, if it is not cheaper. */
  *[Symbol.iterator](): Generator<readonly [key: string, cost: number]> {
    for (let cost = 0; cost < this.#byCost.length; cost += 1) {
      for (const key of this.#byCost[cost] ?? []) yield [key, cost];
    }
  }
}

/**
 * @param begin keys to begin at.
 * @param stepsOf the steps that lead on from a key, in the direction of the search.
 * @param next where such a step leads.
 * @returns for each key that can be reached its cost, and the step by which it is.
 */
function cheapest(
  begin: Iterable<string>,
  stepsOf: (key: string) => readonly Step[],
  next: (step: Step) => string,
) {
  const costs = new Map<string, number>();
  const by = new Map<string, Step>();
  const queue = new Queue();
  for (const key of begin) {
    costs.set(key, 0);
    queue.push(key, 0);
  }
  for (const [key, cost] of queue) {
    if ((costs.get(key) ?? 0) < cost) continue; // a cheaper way was found meanwhile
    for (const step of stepsOf(key)) {
      const to = next(step);
      const sum = cost + step.cost;
      if (sum >= (costs.get(to) ?? Number.POSITIVE_INFINITY)) continue;
      costs.set(to, sum);
      by.set(to, step);
      queue.push(to, sum);
    }
  }
  return { costs, by };
}

/** Few paths that together take every transition that is wanted and can be taken. */
export function pathsThrough(seen: Explored, wishes: Wishes): readonly TestPath[] {
  const there = cheapest(
    [seen.first],
    (key) => seen.steps.get(key) ?? [],
    (step) => step.to,
  );
  const onwards = waysOn(seen, wishes);
  const wayTo = (key: string): Step[] => {
    const way: Step[] = [];
    for (let step = there.by.get(key); step; step = there.by.get(step.from)) way.unshift(step);
    return way;
  };
  const nearest = nearestSteps(seen, there.costs);
  const missing = new Set(wishes.wanted);
  const whole = (step: Step | undefined) =>
    step ? [...wayTo(step.from), step, ...onwards(step.to)] : onwards(seen.first);
  const candidates = wishes.wanted.flatMap((id) => {
    if (!nearest.has(id) && !seen.begun.includes(id)) return [];
    return [whole(nearest.get(id))];
  });
  const chosen: Step[][] = [];
  const gain = (path: readonly Step[]) =>
    new Set([...seen.begun, ...path.flatMap((step) => step.transitions)].filter(isMissing)).size;
  const isMissing = (id: string) => missing.has(id);
  while (missing.size > 0) {
    const best = bestOf(candidates, gain);
    if (!best) break;
    for (const id of [...seen.begun, ...best.flatMap((step) => step.transitions)]) {
      missing.delete(id);
    }
    chosen.push(best);
  }
  return titled(seen, chosen, wishes);
}

/** The step that takes a transition at the least cost. */
function nearestSteps(seen: Explored, costs: ReadonlyMap<string, number>) {
  const nearest = new Map<string, Step>();
  const costOf = (step: Step) => (costs.get(step.from) ?? 0) + step.cost;
  for (const step of [...seen.steps.values()].flat()) {
    for (const id of step.transitions) {
      const known = nearest.get(id);
      if (!known || costOf(step) < costOf(known)) nearest.set(id, step);
    }
  }
  return nearest;
}

/** From any state on to an end: to one that is preferred, else to any, else nowhere. */
function waysOn(seen: Explored, { prefers }: Wishes): (from: string) => Step[] {
  const into = new Map<string, Step[]>();
  for (const step of [...seen.steps.values()].flat()) {
    const list = into.get(step.to);
    if (list) list.push(step);
    else into.set(step.to, [step]);
  }
  const ends = [...seen.states].filter(([, { status }]) => status === 'done');
  const wished = ends.filter(([, snapshot]) => prefers?.(snapshot) ?? true);
  const searches = [wished, ends].map((list) =>
    cheapest(
      list.map(([key]) => key),
      (key) => into.get(key) ?? [],
      (step) => step.from,
    ),
  );
  return (from) => {
    const search = searches.find(({ costs }) => costs.has(from));
    const way: Step[] = [];
    for (let step = search?.by.get(from); step; step = search?.by.get(step.to)) way.push(step);
    return way;
  };
}

/** The one that takes the most that is missing for its length. */
function bestOf(candidates: readonly Step[][], gain: (path: readonly Step[]) => number) {
  let best: Step[] | undefined;
  let most = 0;
  for (const path of candidates) {
    const worth = gain(path) / (path.length + 1);
    if (worth <= most) continue;
    most = worth;
    best = path;
  }
  return best;
}

function titled(seen: Explored, paths: readonly Step[][], wishes: Wishes): readonly TestPath[] {
  const ended = paths.map((steps) => {
    const end = seen.states.get(steps.at(-1)?.to ?? seen.first) as AnyMachineSnapshot;
    return { steps, end };
  });
  const titleOf = ({ steps, end }: (typeof ended)[number], isShown: (step: Step) => boolean) => {
    const names = steps.filter(isShown).map(({ name }) => name);
    return `${wishes.nameEnd(end)}: ${names.join(' → ') || 'as usual'}`;
  };
  const short = ended.map((path) => titleOf(path, (step) => !wishes.isUsual(step)));
  return ended.map((path, i) => {
    const isOnly = short.every((title, other) => other === i || title !== short[i]);
    return {
      title: isOnly ? (short[i] as string) : titleOf(path, () => true),
      steps: path.steps,
      transitions: [...seen.begun, ...path.steps.flatMap(({ transitions }) => transitions)],
      end: path.end,
    };
  });
}
