/**
 * Groups in rows, as words in lines of a text, and the ways between them: out at the right end,
 * down or up beside the rows, and in at the top or, for a way back, at the right end. Ways to the
 * same group join, as roads do, those that go on and those that do not apart; ways to different
 * places never lie on each other.
 */
import {
  type Door,
  type GroupLayout,
  type Point,
  type Rectangle,
  round,
  type Side,
} from './layout.ts';
import type { Line, Plan } from './plan.ts';

export interface Geometry {
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Rectangle>;
  readonly lines: ReadonlyMap<string, readonly Point[]>;
  readonly labels: ReadonlyMap<string, Rectangle>;
}
/** Ids of groups, row by row. */
export type Rows = readonly (readonly string[])[];

const TRACK = 9;
const GAP = 16;

/**
 * In the order of the chart, the states that are in none last, each row as full as the widest group
 * allows.
 */
export function rowsOf(sizes: readonly Pick<GroupLayout, 'id' | 'width'>[], root: string): Rows {
  const order = [...sizes].sort((a, b) => Number(a.id === root) - Number(b.id === root));
  const widest = Math.max(...sizes.map(({ width }) => width));
  const rows: { ids: string[]; width: number }[] = [];
  for (const { id, width } of order) {
    const row = rows.at(-1);
    if (row && row.width + GAP * 3 + width <= widest) {
      row.ids.push(id);
      row.width += GAP * 3 + width;
    } else rows.push({ ids: [id], width });
  }
  return rows.map(({ ids }) => ids);
}

interface Spot {
  readonly row: number;
  readonly column: number;
  readonly isLast: boolean;
}
const spotOf = (group: string, rows: Rows): Spot => {
  const row = rows.findIndex((ids) => ids.includes(group));
  const ids = rows[row] ?? [];
  const column = ids.indexOf(group);
  return { row, column, isLast: column === ids.length - 1 };
};

/** Which group a box is in. */
export function groupsByBox(plan: Plan): ReadonlyMap<string, string> {
  const parents = new Map(plan.boxes.map(({ id, parent }) => [id, parent]));
  const groupOf = (id: string): string => {
    const parent = parents.get(id);
    return parent ? groupOf(parent) : id;
  };
  return new Map(plan.boxes.map(({ id }) => [id, groupOf(id)]));
}

const isNextDoor = (from: Spot, to: Spot) => from.row === to.row && to.column === from.column + 1;
const sideOfEntry = (from: Spot, to: Spot): Side => {
  if (isNextDoor(from, to)) return 'WEST';
  return to.row <= from.row && to.isLast ? 'EAST' : 'NORTH';
};

/** What ELK must know of the ways: where the walls are gone through. */
export function doorsOf(plan: Plan, rows: Rows): readonly Door[] {
  const groups = groupsByBox(plan);
  return plan.ways.flatMap((way) => {
    const [from, to] = [groups.get(way.source), groups.get(way.target)];
    if (from === undefined || to === undefined) return [];
    const out: Door = { way, group: from, side: 'EAST', isOut: true };
    const side = sideOfEntry(spotOf(from, rows), spotOf(to, rows));
    return to === way.target ? [out] : [out, { way, group: to, side, isOut: false }];
  });
}

/** A way while it is being laid. Rows and gaps are numbered; gap `n` is above row `n`. */
interface Trip {
  readonly way: Line;
  readonly from: string;
  readonly to: string;
  readonly start: Spot;
  readonly end: Spot;
  readonly side: Side;
  /** The same for ways that join: whoever is on the road gets to the same place. */
  readonly road: string;
  /** The gap in which it runs across; undefined where it does not. */
  readonly gap: number | undefined;
  /** Where it runs up or down, px; the index of its track in the gap. */
  x: number;
  /** Where it comes in from above, px. */
  entryX: number;
  track: number;
}

export function arrange(plan: Plan, rows: Rows, layouts: readonly GroupLayout[]): Geometry {
  const byId = new Map(layouts.map((layout) => [layout.id, layout]));
  const trips = tripsOf(plan, rows);
  const between = rows.map((ids) => ids.map((id) => GAP * 2 + TRACK * outOf(id, trips)));
  const left = new Map<string, number>();
  const rightOf: number[] = [];
  for (const [row, ids] of rows.entries()) {
    let x = 0;
    for (const [column, id] of ids.entries()) {
      left.set(id, x);
      x += byId.get(id)?.width ?? 0;
      if (column < ids.length - 1) x += between[row]?.[column] ?? GAP;
    }
    rightOf.push(x);
  }
  const at = (id: string) => ({ x: left.get(id) ?? 0, layout: byId.get(id) });
  placeVerticals(trips, rightOf, at);
  placeEntries(trips, at);
  const tracks = placeTracks(trips, rows.length, at);
  const top: number[] = [];
  let y = 0;
  for (const [row, ids] of rows.entries()) {
    y += (tracks[row] ?? 0) > 0 ? GAP + TRACK * (tracks[row] ?? 0) : row === 0 ? 0 : GAP;
    top.push(y);
    y += Math.max(...ids.map((id) => byId.get(id)?.height ?? 0));
  }
  return assemble({ plan, rows, trips, at, top, height: y });
}

type At = (id: string) => { readonly x: number; readonly layout: GroupLayout | undefined };

const outOf = (id: string, trips: readonly Trip[]) =>
  new Set(trips.flatMap(({ from, road }) => (from === id ? [road] : []))).size;

function tripsOf(plan: Plan, rows: Rows): Trip[] {
  const groups = groupsByBox(plan);
  return plan.ways.flatMap((way) => {
    const [from, to] = [groups.get(way.source), groups.get(way.target)];
    if (from === undefined || to === undefined) return [];
    const [start, end] = [spotOf(from, rows), spotOf(to, rows)];
    const side = sideOfEntry(start, end);
    // one that is not the last of its row goes around the others: above them
    const gap =
      side === 'NORTH' ? end.row : start.isLast || side === 'WEST' ? undefined : start.row;
    const road = to === way.target ? `${to} ${side} ${way.tone}` : way.id;
    return [{ way, from, to, start, end, side, road, gap, x: 0, entryX: 0, track: 0 }];
  });
}

/** A line up or down that one way has for itself, or several that join. */
interface Lane {
  readonly key: string;
  /** Not left of here, px. */
  begin: number;
  /** First and last row that it passes. */
  rows: readonly [number, number];
  /** Inside a row first, then the others; the short ones before the long ones. */
  readonly stage: number;
  readonly doorY: number;
  readonly put: ((x: number) => void)[];
}

/** Beside all rows that it passes; short ones inside, long ones outside. */
function placeVerticals(trips: Trip[], rightOf: readonly number[], at: At): void {
  const lanes = new Map<string, Lane>();
  const add = (lane: Lane) => {
    const known = lanes.get(lane.key);
    if (known === undefined) {
      lanes.set(lane.key, lane);
      return;
    }
    known.begin = Math.max(known.begin, lane.begin);
    known.rows = [Math.min(known.rows[0], lane.rows[0]), Math.max(known.rows[1], lane.rows[1])];
    known.put.push(...lane.put);
  };
  for (const trip of trips) {
    const { from, start, end, road, side, gap } = trip;
    const { x, layout } = at(from);
    const y = doorY(trip, at);
    const toX = (place: number) => {
      trip.x = place;
    };
    const toEntry = (place: number) => {
      trip.entryX = place;
    };
    if (!start.isLast) {
      const [begin, key] = [x + (layout?.width ?? 0), `${from} ${road}`];
      const rows = [start.row, start.row] as const;
      add({ key, begin, rows, stage: 0, doorY: y, put: [toX] });
      // a way back that starts inside a row goes up outside of all rows, like the others
      if (gap === undefined || side !== 'EAST') continue;
    }
    const isDown = start.row < end.row;
    const [first, last] = isDown ? [start.row, end.row - 1] : [end.row, start.row];
    const begin = Math.max(...rightOf.slice(first, last + 1));
    const put = [start.isLast ? toX : toEntry];
    add({ key: road, begin, rows: [first, last], stage: 1, doorY: y, put });
  }
  spread([...lanes.values()]);
}

/** Each as far left as it can be. */
function spread(lanes: readonly Lane[]): void {
  const length = ({ rows }: Lane) => rows[1] - rows[0];
  const ordered = [...lanes].sort(
    (a, b) => a.stage - b.stage || length(a) - length(b) || b.doorY - a.doorY,
  );
  const taken: { x: number; rows: readonly [number, number] }[] = [];
  for (const { begin, rows, put } of ordered) {
    let x = begin + GAP;
    const isTaken = () =>
      taken.some(
        (other) =>
          Math.abs(other.x - x) < TRACK && other.rows[0] <= rows[1] && other.rows[1] >= rows[0],
      );
    while (isTaken()) x += TRACK;
    taken.push({ x, rows });
    for (const set of put) set(x);
  }
}

/** Where a way leaves its group, from the group's top. */
const doorY = (trip: Trip, at: At): number => {
  const points = at(trip.from).layout?.doors.get(trip.way.id);
  return points?.at(-1)?.[1] ?? 0;
};

/** It leads to the group as a whole, or ELK has laid no way from the wall to the state in it. */
const endsAtWall = ({ way }: Trip, layout: GroupLayout | undefined): boolean =>
  (layout?.doors.get(way.id)?.length ?? 0) === 0;

/** Ways into a group as a whole come in at its upper left, one beside the other. */
function placeEntries(trips: Trip[], at: At): void {
  const groups = new Set(trips.map(({ to }) => to));
  for (const group of groups) {
    const { x, layout } = at(group);
    const own = trips.filter(({ to, side }) => to === group && side === 'NORTH');
    const whole = own.filter((trip) => endsAtWall(trip, layout));
    whole.sort((a, b) => b.x - a.x);
    const roads = [...new Set(whole.map(({ road }) => road))];
    for (const trip of whole) {
      trip.entryX = x + 26 + (roads.length - roads.indexOf(trip.road)) * 12;
    }
    for (const trip of own) {
      const inner = layout?.doors.get(trip.way.id)?.[0];
      if (inner) trip.entryX = x + inner[0];
    }
  }
}

/** @returns how many tracks each gap has. */
function placeTracks(trips: Trip[], rows: number, at: At): readonly number[] {
  return Array.from({ length: rows }, (_, gap) => {
    const own = trips.filter((trip) => trip.gap === gap);
    const span = (trip: Trip) => [Math.min(trip.x, trip.entryX), Math.max(trip.x, trip.entryX)];
    // from above: the one that goes furthest lies lowest, so that nobody crosses it twice
    own.sort((a, b) => b.entryX - a.entryX || doorY(a, at) - doorY(b, at));
    const taken: { road: string; from: number; to: number }[][] = [];
    for (const trip of own) {
      const [from = 0, to = 0] = span(trip);
      const isFree = (track: (typeof taken)[number]) =>
        track.every(
          (other) => other.road === trip.road || other.to < from - 4 || other.from > to + 4,
        );
      let track = taken.findIndex(isFree);
      if (track < 0) track = taken.push([]) - 1;
      taken[track]?.push({ road: trip.road, from, to });
      trip.track = track;
    }
    return taken.length;
  });
}

interface Arranged {
  readonly plan: Plan;
  readonly rows: Rows;
  readonly trips: readonly Trip[];
  readonly at: At;
  readonly top: readonly number[];
  readonly height: number;
}
function assemble({ rows, trips, at, top, height }: Arranged): Geometry {
  const boxes = new Map<string, Rectangle>();
  const lines = new Map<string, readonly Point[]>();
  const labels = new Map<string, Rectangle>();
  const doors = new Map<string, readonly Point[]>();
  for (const [row, ids] of rows.entries()) {
    for (const id of ids) {
      const { x, layout } = at(id);
      const y = top[row] ?? 0;
      if (layout === undefined) continue;
      const move = (to: Rectangle): Rectangle => ({
        ...to,
        x: round(to.x + x),
        y: round(to.y + y),
      });
      const movePoint = ([px, py]: Point): Point => [round(px + x), round(py + y)];
      boxes.set(id, { x, y, width: layout.width, height: layout.height });
      for (const [box, place] of layout.boxes) boxes.set(box, move(place));
      for (const [line, place] of layout.labels) labels.set(line, move(place));
      for (const [line, points] of layout.lines) lines.set(line, points.map(movePoint));
      for (const [way, points] of layout.doors) doors.set(`${id} ${way}`, points.map(movePoint));
    }
  }
  const backs = wallPlaces(trips, at, top);
  for (const trip of trips) {
    const out = doors.get(`${trip.from} ${trip.way.id}`) ?? [];
    const into = doors.get(`${trip.to} ${trip.way.id}`) ?? [];
    const start = out.at(-1) ?? [0, 0];
    lines.set(
      trip.way.id,
      tidy([...out, ...outside(trip, start, into[0], { top, boxes, backs }), ...into]),
    );
  }
  const xs = [...lines.values(), ...[...boxes.values()].map(cornersOf)].flat().map(([x]) => x);
  return { width: Math.max(...xs), height, boxes, lines, labels };
}
const cornersOf = ({ x, y, width, height }: Rectangle): Point[] => [[x + width, y + height]];

/** Where ways back come in at the right wall: the inner ones below, the outer ones above. */
function wallPlaces(
  trips: readonly Trip[],
  at: At,
  top: readonly number[],
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const group of new Set(trips.map(({ to }) => to))) {
    const { layout } = at(group);
    const whole = trips.filter(
      (trip) => trip.to === group && trip.side === 'EAST' && endsAtWall(trip, layout),
    );
    whole.sort((a, b) => outerX(b) - outerX(a));
    const roads = [...new Set(whole.map(({ road }) => road))];
    const row = whole[0]?.end.row ?? 0;
    const room = (layout?.height ?? 0) - 24;
    const step = Math.min(11, room / Math.max(1, roads.length));
    for (const { way, road } of whole) {
      places.set(way.id, (top[row] ?? 0) + 14 + roads.indexOf(road) * step);
    }
  }
  return places;
}
const outerX = ({ gap, side, x, entryX }: Trip) =>
  gap !== undefined && side === 'EAST' ? entryX : x;

interface Places {
  readonly top: readonly number[];
  readonly boxes: ReadonlyMap<string, Rectangle>;
  readonly backs: ReadonlyMap<string, number>;
}
/** From wall to wall. */
function outside(trip: Trip, start: Point, into: Point | undefined, places: Places): Point[] {
  const { gap, side, x, entryX, track, to, way } = trip;
  const wall = places.boxes.get(to) ?? { x: 0, y: 0, width: 0, height: 0 };
  const gapY = gap === undefined ? 0 : (places.top[gap] ?? 0) - GAP / 2 - 4 - track * TRACK;
  if (side === 'NORTH') {
    return [[x, start[1]], [x, gapY], [entryX, gapY], ...(into ? [] : [[entryX, wall.y] as const])];
  }
  if (side === 'WEST') {
    const y = into?.[1] ?? wall.y + wall.height / 2;
    return [[x, start[1]], [x, y], ...(into ? [] : [[wall.x, y] as const])];
  }
  const y = into?.[1] ?? places.backs.get(way.id) ?? wall.y;
  const end: Point[] = into ? [] : [[wall.x + wall.width, y]];
  if (gap === undefined) return [[x, start[1]], [x, y], ...end];
  return [[x, start[1]], [x, gapY], [entryX, gapY], [entryX, y], ...end];
}

/** Without points that lie on the way between their neighbours. */
const tidy = (points: readonly Point[]): readonly Point[] =>
  points
    .map(([x, y]): Point => [round(x), round(y)])
    .filter(([x, y], i, all) => {
      const [before, after] = [all[i - 1], all[i + 1]];
      if (!before || !after) return true;
      const isStraight = (k: 0 | 1, here: number) => before[k] === here && after[k] === here;
      return !isStraight(0, x) && !isStraight(1, y);
    });
