/**
 * Places of what is in each group, by ELK's layered algorithm. The graph is made here and read back
 * here; who runs ELK, and on which thread, is somebody else's decision: it takes a second.
 * Between the groups nothing is left to ELK: see `arrange.ts`.
 */
import type { ElkExtendedEdge, ElkLabel, ElkNode, ElkPort } from 'elkjs/lib/elk-api.js';
import type { Box, Line, Plan } from './plan.ts';
import { linesOf, sizes, widthOf } from './text.ts';

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export type Point = readonly [x: number, y: number];
/** What lies in a group, from its upper left corner. */
export interface GroupLayout {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Rectangle>;
  readonly lines: ReadonlyMap<string, readonly Point[]>;
  /** Where the labels of a line stand, all in one column. */
  readonly labels: ReadonlyMap<string, Rectangle>;
  /** By id of a way: the part of it that lies in this group, up to the wall. */
  readonly doors: ReadonlyMap<string, readonly Point[]>;
}

/** Room for `999×` or `1.2k×` behind a text, px. */
export const COUNT = 38;
/** Room for `59.9 s` or `59:59 min` behind the name of a deadline, px. */
const LEFT = 58;
/** A name in bold letters is so much wider. */
const BOLD = 1.14;

/** Heights, px. */
export const heights = { title: 28, row: 17, exit: 19, label: 15 } as const;

/** What made the difference when it was tried. */
const options: Readonly<Record<string, string>> = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.json.shapeCoords': 'PARENT',
  'elk.json.edgeCoords': 'CONTAINER',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.portConstraints': 'FIXED_SIDE',
  'elk.spacing.nodeNode': '7',
  'elk.spacing.edgeEdge': '8',
  'elk.spacing.edgeNode': '8',
  'elk.spacing.edgeLabel': '2',
  'elk.spacing.labelNode': '3',
  'elk.layered.spacing.nodeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '7',
  'elk.layered.spacing.edgeNodeBetweenLayers': '7',
  'elk.edgeLabels.placement': 'CENTER',
  'elk.edgeLabels.inline': 'true',
  'elk.layered.edgeLabels.centerLabelPlacementStrategy': 'SPACE_EFFICIENT_LAYER',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.thoroughness': '30',
};

export type Side = 'EAST' | 'WEST' | 'NORTH';
/** Where a way leaves or enters a group. */
export interface Door {
  readonly way: Line;
  readonly group: string;
  readonly side: Side;
  readonly isOut: boolean;
}

/** @param doors ways that begin or end at a state in the group, not at the group itself. */
export function graphOf(plan: Plan, doors: readonly Door[]): ElkNode {
  const groups = plan.boxes.filter(({ kind }) => kind === 'group');
  return {
    id: 'drawing',
    layoutOptions: { 'elk.algorithm': 'rectpacking' },
    children: groups.map((group) => groupGraph(group, plan, doors)),
  };
}

function groupGraph(group: Box, plan: Plan, doors: readonly Door[]): ElkNode {
  const { width, height } = sizeOf(group);
  const children = plan.boxes.filter(({ parent }) => parent === group.id);
  if (children.length === 0) return { id: group.id, width, height: height + 4 };
  const inside = new Set(boxesIn(group.id, plan));
  const lines = plan.lines.filter(({ source }) => inside.has(source));
  const own = doors.filter((door) => door.group === group.id);
  const ports: ElkPort[] = own.map(({ side, ...door }) => ({
    id: doorId(door),
    width: 1,
    height: 1,
    layoutOptions: { 'elk.port.side': side },
  }));
  return {
    id: group.id,
    children: children.map((child) => childGraph(child, plan)),
    ports,
    edges: [
      ...lines.map(elkEdge),
      // always from within to the wall: ELK lays no edge that begins at a wall
      ...own.map((door) => ({
        id: `${door.way.id} ${door.isOut ? 'out' : 'in'}`,
        sources: [door.isOut ? door.way.source : door.way.target],
        targets: [doorId(door)],
      })),
    ],
    layoutOptions: {
      ...options,
      'elk.padding': `[top=${group.title === '' ? 6 : height + 2},left=26,bottom=10,right=12]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width + 20}, 60)`,
    },
  };
}

/** A way has a door in both groups, and ids are those of the whole graph. */
const doorId = ({ way, isOut }: Pick<Door, 'way' | 'isOut'>) =>
  `${way.id} ${isOut ? 'outer' : 'inner'} door`;

function childGraph(box: Box, plan: Plan): ElkNode {
  const { width, height } = sizeOf(box);
  const children = plan.boxes.filter(({ parent }) => parent === box.id);
  if (children.length === 0) return { id: box.id, width, height };
  return {
    id: box.id,
    children: children.map((child) => childGraph(child, plan)),
    layoutOptions: {
      'elk.padding': `[top=${height + 2},left=26,bottom=10,right=12]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      'elk.nodeSize.minimum': `(${width + 20}, 50)`,
    },
  };
}

const boxesIn = (id: string, plan: Plan): readonly string[] =>
  plan.boxes.flatMap((box) => (box.parent === id ? [box.id, ...boxesIn(box.id, plan)] : []));

const elkEdge = (line: Line): ElkExtendedEdge => ({
  id: line.id,
  sources: [line.source],
  targets: [line.target],
  labels: line.labels.length === 0 ? [] : [{ text: line.id, ...labelSize(line) }],
});

function sizeOf(box: Box): { width: number; height: number } {
  if (box.kind === 'exit') {
    const widths = box.labels.map(({ text }) => widthOf(text, sizes.row));
    return {
      width: Math.max(...widths) + 30 + COUNT,
      height: box.labels.length * heights.exit + 6,
    };
  }
  const rows = box.rows.map(
    ({ kind, text, faults }) =>
      widthOf(text, sizes.row) +
      (13 + (kind === 'deadline' ? LEFT : COUNT) + (faults.length > 0 ? 18 : 0)),
  );
  const isOuter = box.kind === 'group' || box.kind === 'compound';
  const title = Math.ceil(widthOf(box.title, sizes.name) * (isOuter ? BOLD : 1));
  const width = Math.max(title, ...rows, 50) + 18;
  const bottom = box.rows.length > 0 ? 4 : 0;
  return { width, height: heights.title + box.rows.length * heights.row + bottom };
}

/** One label may be cut in two lines; of several each has one. */
export const labelLines = ({ labels }: Line): readonly (readonly string[])[] =>
  labels.map(({ text }) => (labels.length === 1 ? linesOf(text) : [text]));
function labelSize(line: Line): { width: number; height: number } {
  const lines = labelLines(line).flat();
  const widths = lines.map((text) => widthOf(text, sizes.row));
  return { width: Math.max(...widths) + 6 + COUNT, height: lines.length * heights.label + 2 };
}

/** Places are told from the node that an edge lies in: here they become places in the group. */
export function groupsOf(laidOut: ElkNode): readonly GroupLayout[] {
  return (laidOut.children ?? []).map((group) => {
    const boxes = new Map<string, Rectangle>();
    const lines = new Map<string, readonly Point[]>();
    const labels = new Map<string, Rectangle>();
    const doors = new Map<string, readonly Point[]>();
    const read = (node: ElkNode, x: number, y: number) => {
      for (const edge of node.edges ?? []) {
        // the container is where ELK has put the edge, not where we have told it
        const [cx, cy] = originOf(group, edge);
        const [, id = '', way] = /^(.*?)(?: (out|in))?$/s.exec(edge.id) ?? [];
        const points = pointsOf(edge, cx, cy);
        (way ? doors : lines).set(id, way === 'in' ? points.toReversed() : points);
        const [label] = edge.labels ?? [];
        if (label) labels.set(id, rectangle(label, cx, cy));
      }
      for (const child of node.children ?? []) {
        boxes.set(child.id, rectangle(child, x, y));
        read(child, x + (child.x ?? 0), y + (child.y ?? 0));
      }
    };
    read(group, 0, 0);
    const { width, height } = rectangle(group, 0, 0);
    return { id: group.id, width, height, boxes, lines, labels, doors };
  });
}

function originOf(group: ElkNode, edge: ElkExtendedEdge): Point {
  const container = 'container' in edge ? edge.container : group.id;
  const find = (node: ElkNode, x: number, y: number): Point | undefined => {
    if (node.id === container) return [x, y];
    for (const child of node.children ?? []) {
      const found = find(child, x + (child.x ?? 0), y + (child.y ?? 0));
      if (found) return found;
    }
    return undefined;
  };
  return find(group, 0, 0) ?? [0, 0];
}

export const round = (value: number): number => Math.round(value * 10) / 10;
const rectangle = (of: ElkNode | ElkLabel, x: number, y: number): Rectangle => ({
  x: round(x + (of.x ?? 0)),
  y: round(y + (of.y ?? 0)),
  width: round(of.width ?? 0),
  height: round(of.height ?? 0),
});
const pointsOf = ({ sections = [] }: ElkExtendedEdge, x: number, y: number): readonly Point[] =>
  sections
    .flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint])
    .map((point): Point => [round(x + point.x), round(y + point.y)]);
