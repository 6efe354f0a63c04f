/**
 * Run-time gates, for stories that are told with other gates than the defaults. A whole run is told
 * so by `ESCAPEMENT_TEST_GATES` (JSON); what a story says of its own gates wins.
 */
import { defaultGates, type Gates } from '../../src/config.ts';

type Row = Readonly<Record<string, boolean>>;

/** Of this run, under every story. */
export const gatesOfRun: Partial<Gates> = JSON.parse(process.env.ESCAPEMENT_TEST_GATES ?? '{}');

/**
 * One changes nothing: a row for it would only take time. The other, when it is shut, sends what the
 * API refuses: it has a story of its own.
 */
const idle: readonly (keyof Gates)[] = ['fastModeEnabled', 'stripSignatures'];

const isOnIn = (row: Row, name: string): boolean => row[name] ?? false;
const pairOf = (row: Row, [a, b]: readonly [string, string]): string =>
  `${a}=${isOnIn(row, a)} ${b}=${isOnIn(row, b)}`;

/** Every two names, once. */
export const pairsOf = (names: readonly string[]): readonly (readonly [string, string])[] =>
  names.flatMap((a, at) => names.slice(at + 1).map((b) => [a, b] as const));

/** What every two names are to each other in some row. */
export const pairsIn = (rows: readonly Row[], names: readonly string[]): ReadonlySet<string> =>
  new Set(rows.flatMap((row) => pairsOf(names).map((pair) => pairOf(row, pair))));

/**
 * A covering array of strength two: rows in which every two switches meet in all four ways. Each
 * row begins with a pair that has not met yet, so that there is an end; the other switches are set
 * one after the other to meet as much that is new as they can. The same names give the same rows;
 * all on and all off are the first two.
 */
export function pairwise(names: readonly string[]): readonly Row[] {
  const rows: Row[] = [true, false].map((value) =>
    Object.fromEntries(names.map((name) => [name, value])),
  );
  for (;;) {
    const met = pairsIn(rows, names);
    const missing = waysOf(names).find((way) => !met.has(pairOf(way, pairOfWay(way))));
    if (!missing) return rows;
    rows.push(filledUp(missing, names, met));
  }
}

const pairOfWay = (way: Row) => Object.keys(way) as unknown as readonly [string, string];
/** Every two switches, set in each of the four ways. */
const waysOf = (names: readonly string[]): readonly Row[] =>
  pairsOf(names).flatMap(([a, b]) =>
    [true, false].flatMap((x) => [true, false].map((y) => ({ [a]: x, [b]: y }))),
  );

function filledUp(begun: Row, names: readonly string[], met: ReadonlySet<string>): Row {
  let row = begun;
  for (const name of names) {
    if (name in row) continue;
    const set = names.filter((one) => one in row || one === name);
    const freshWith = (value: boolean) =>
      [...pairsIn([{ ...row, [name]: value }], set)].filter((pair) => !met.has(pair)).length;
    row = { ...row, [name]: freshWith(true) > freshWith(false) };
  }
  return row;
}

/** All on, all off, and what it takes that every two gates meet in all four ways. */
export const gateRows: readonly Gates[] = pairwise(
  Object.keys(defaultGates).filter((name) => !idle.includes(name as keyof Gates)),
).map((row) => ({ ...defaultGates, ...row }));

/** For stories about summaries of everything, which the other means would put off. */
export const summing: Partial<Gates> = {
  microcompact: true,
  cachedMicrocompact: false,
  contextCollapse: false,
  autocompact: true,
  reactiveCompact: true,
};
