/** The paths that together take every transition of the chart, world by world. */
import { queryMachine } from '../../machines/query.machine.ts';
import { coverTransitions, type TestPath } from '../../src/testing/index.ts';
import type { Snapshot } from '../conformance/chart.ts';
import {
  eventsOf,
  inputOf,
  isPossibleIn,
  outcomesOf,
  type PathWorld,
  pictureOf,
  worlds,
} from './worlds.ts';

export interface WorldPath extends TestPath {
  readonly world: PathWorld;
  readonly reason: string;
}
export interface Generated {
  readonly paths: readonly WorldPath[];
  readonly transitions: readonly string[];
  readonly unreachable: readonly string[];
  readonly states: number;
  readonly steps: number;
}

/** What happens in nearly every path. */
const usual = [
  ...[
    'opened',
    'text',
    'end_turn',
    'tool_use',
    'sampling.backingOff after backoffMs',
    'all answered',
    'result',
  ],
  ...['toolResultBudget: ok', 'snip: ok', 'microcompact: ok', 'collapse: ok', 'autocompact: ok'],
  ...['legalize: fits', 'attachments: ready', 'stopHooks: passed', 'switchModel: switched'],
];
const endingOf = (snapshot: unknown) => (snapshot as Snapshot).context.ending ?? 'none';

let made: Generated | undefined;
/** *Contract:* the same each time. */
export function generatePaths(): Generated {
  made ??= pathsThroughWorlds(worlds);
  return made;
}

/** Of some worlds. What one of them takes, the next ones need not take again. */
export function pathsThroughWorlds(some: readonly PathWorld[]): Generated {
  let wanted: readonly string[] | undefined;
  let transitions: readonly string[] = [];
  const paths: WorldPath[] = [];
  let [states, steps] = [0, 0];
  for (const world of some) {
    const covered = coverTransitions(queryMachine, outcomesOf(world), {
      input: inputOf(world),
      events: eventsOf(world),
      project: pictureOf,
      isPossible: isPossibleIn(world),
      lastResort: ['abort', 'time is up', 'described'],
      deadlines: world.letters.faults ?? false,
      prefers: (snapshot) => endingOf(snapshot) === 'completed',
      nameEnd: endingOf,
      usual,
      ...(wanted ? { wanted } : {}),
    });
    const found = covered.paths.map((path) => ({ ...path, world, reason: endingOf(path.end) }));
    paths.push(...found);
    wanted = covered.unreachable;
    transitions = covered.transitions;
    states += covered.states;
    steps += covered.steps;
  }
  return { paths, transitions, unreachable: wanted ?? transitions, states, steps };
}
