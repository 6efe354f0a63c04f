/**
 * What of a chart is drawn as what, so that a big machine stays readable:
 * - a state of the root with states in it is a group, drawn as one line of a text;
 * - what leaves a group is a row of a box at its right end: reasons to end, reasons to go on, ways
 *   to another group. One box for each state and each place that it goes to;
 * - edges between two states of a group are one line, with a label for each;
 * - what does not lead away (answers of a service, events heard in place, deadlines) is a row in its
 *   state, and so is the way that every failing service takes, and what a group hears as a whole.
 * Every edge is somewhere: it can be lit, counted and clicked.
 */
import type { Chart, ChartEdge, ChartNode } from '../protocol.ts';

/** Numbers are places in `chart.edges`. */
type EdgeIndex = number;

export type EdgeTone = 'continue' | 'terminal' | 'error' | 'plain';
/** A text that stands for one edge. */
export interface Label {
  readonly text: string;
  readonly edge: EdgeIndex;
  readonly tone: EdgeTone;
}
/** A line of small text in a state. */
export interface Row {
  readonly kind: 'service' | 'deadline' | 'heard';
  readonly text: string;
  readonly tone: EdgeTone;
  readonly edges: readonly EdgeIndex[];
  /** Where the service fails: lit by itself, behind the text. */
  readonly faults: readonly EdgeIndex[];
}
export interface Box {
  readonly id: string;
  readonly kind: 'group' | 'compound' | 'leaf' | 'exit';
  /** In `chart.nodes`; undefined for an exit. */
  readonly node?: number;
  readonly title: string;
  /** The box around it; null for a group. */
  readonly parent: string | null;
  readonly rows: readonly Row[];
  /** Of an exit. */
  readonly labels: readonly Label[];
}
export interface Line {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly edges: readonly EdgeIndex[];
  readonly labels: readonly Label[];
  readonly tone: EdgeTone;
}
export interface Plan {
  readonly boxes: readonly Box[];
  /** Within a group. */
  readonly lines: readonly Line[];
  /** From an exit of one group to another group, or to a state in it. */
  readonly ways: readonly Line[];
}

/** The group of what has none. It has no title and no frame. */
export const LOOSE = '|loose';

export function planOf(chart: Chart): Plan {
  const draft = new Draft(chart);
  const states = chart.nodes.filter((node) => draft.isDrawn(node)).map((node) => draft.box(node));
  const exits = draft.exits();
  const isLoose = states.some(({ parent }) => parent === LOOSE);
  const loose: Box = { ...empty, id: LOOSE, kind: 'group', title: '', parent: null };
  const { lines, ways } = draft.lines();
  return { boxes: [...(isLoose ? [loose] : []), ...states, ...exits], lines, ways };
}
const empty = { rows: [], labels: [] };

/**
 * Whether an edge with a reason ends the run: it leads to a final state of the root. Every other
 * reason is a reason to go on.
 */
export const isEnding = (edge: ChartEdge, chart: Pick<Chart, 'nodes'>): boolean => {
  if (edge.reason === undefined) return false;
  const target = chart.nodes.find(({ id }) => id === edge.target);
  const root = chart.nodes.find(({ parent }) => parent === null);
  return target?.type === 'final' && target.parent === root?.id;
};
export const toneOf = (edge: ChartEdge, chart: Pick<Chart, 'nodes'>): EdgeTone => {
  if (edge.reason !== undefined) return isEnding(edge, chart) ? 'terminal' : 'continue';
  return edge.kind === 'error' ? 'error' : 'plain';
};

type Place = 'line' | 'exit' | 'service' | 'fault' | 'deadline' | 'heard';

/** The chart while it is being read. */
class Draft {
  private readonly chart: Chart;
  private readonly nodes: ReadonlyMap<string, ChartNode>;
  private readonly parents: ReadonlySet<string>;
  private readonly places: readonly Place[];
  private readonly root: ChartNode | undefined;

  constructor(chart: Chart) {
    this.chart = chart;
    this.nodes = new Map(chart.nodes.map((node) => [node.id, node]));
    this.parents = new Set(chart.nodes.flatMap(({ parent }) => parent ?? []));
    this.root = chart.nodes.find(({ parent }) => parent === null);
    this.places = chart.edges.map((edge) => this.placeOf(edge));
  }

  /** A final state that is reached with reasons only is drawn as these. */
  isDrawn(node: ChartNode): boolean {
    const into = this.chart.edges.filter(
      ({ target, source }) => target === node.id && source !== node.id,
    );
    const isEnd = into.length > 0 && into.every((edge) => isEnding(edge, this.chart));
    if (node !== this.root) return !isEnd || this.parents.has(node.id);
    return node.invoke.length > 0 || this.chart.edges.some(({ source }) => source === node.id);
  }

  box(node: ChartNode): Box {
    const isGroup =
      node === this.root || (node.parent === this.root?.id && this.parents.has(node.id));
    const kind = isGroup ? 'group' : this.parents.has(node.id) ? 'compound' : 'leaf';
    const isLoose = !isGroup && node.parent === this.root?.id;
    return {
      ...empty,
      id: node.id,
      kind,
      node: this.chart.nodes.indexOf(node),
      title: node === this.root ? 'in every state' : node.key,
      parent: isGroup ? null : isLoose ? LOOSE : node.parent,
      rows: this.rowsOf(node),
    };
  }

  exits(): readonly Box[] {
    const boxes = new Map<string, Box>();
    for (const [i, edge] of this.chart.edges.entries()) {
      if (this.places[i] !== 'exit') continue;
      const id = this.exitId(edge);
      const parent = this.nodes.get(edge.source)?.parent ?? null;
      const labels = [...(boxes.get(id)?.labels ?? []), this.label(i, this.exitText(edge))];
      const home = parent === this.root?.id ? LOOSE : parent;
      boxes.set(id, { id, kind: 'exit', title: '', parent: home, rows: [], labels });
    }
    return [...boxes.values()];
  }

  lines(): Pick<Plan, 'lines' | 'ways'> {
    const lines = new Map<string, EdgeIndex[]>();
    const ways = new Map<string, EdgeIndex[]>();
    const add = (to: Map<string, EdgeIndex[]>, i: EdgeIndex, ends: readonly [string, string]) => {
      const key = JSON.stringify(ends);
      to.set(key, [...(to.get(key) ?? []), i]);
    };
    for (const [i, edge] of this.chart.edges.entries()) {
      if (this.places[i] === 'line') add(lines, i, [edge.source, this.entered(edge)]);
      if (this.places[i] !== 'exit') continue;
      const exit = this.exitId(edge);
      add(lines, i, [edge.source, exit]);
      if (!isEnding(edge, this.chart)) add(ways, i, [exit, edge.target]);
    }
    return {
      lines: [...lines].map(([id, edges]) => this.line(id, edges)),
      ways: [...ways].map(([id, edges]) => ({ ...this.line(id, edges), labels: [] })),
    };
  }

  private line(id: string, edges: readonly EdgeIndex[]): Line {
    const [source = '', target = ''] = JSON.parse(id) as string[];
    const tones = edges.map((i) => toneOf(this.edge(i), this.chart));
    const [tone = 'plain', ...others] = tones;
    const isOne = others.every((other) => other === tone);
    const labels = edges.flatMap((i) => this.lineLabel(i));
    return { id, source, target, edges, labels, tone: isOne ? tone : 'plain' };
  }

  private rowsOf(node: ChartNode): readonly Row[] {
    const own = (isIt: (edge: ChartEdge, place: Place) => boolean) =>
      this.chart.edges.flatMap((edge, i) =>
        edge.source === node.id && isIt(edge, this.places[i] ?? 'line') ? [i] : [],
      );
    const services = node.invoke.map((service): Row => {
      const isOf = (edge: ChartEdge) => this.serviceOf(edge)?.id === service.id;
      return {
        kind: 'service',
        text: service.src === node.key ? 'runs' : service.src,
        tone: 'plain',
        edges: own((edge, place) => place === 'service' && isOf(edge)),
        faults: own((edge, place) => place === 'fault' && isOf(edge)),
      };
    });
    const waits = own(({ kind }) => kind === 'after').map((i) => heardOf(this.edge(i)));
    const deadlines = [...new Set(waits)].map((text): Row => {
      const isOf = (edge: ChartEdge) => edge.kind === 'after' && heardOf(edge) === text;
      const faults = own((edge, place) => place === 'deadline' && isOf(edge));
      return { kind: 'deadline', text, tone: 'plain', edges: own(isOf), faults };
    });
    const heard = own((_, place) => place === 'heard').map((i) => this.heardRow(i));
    const merged = new Map<string, Row>();
    for (const row of heard) {
      const edges = [...(merged.get(row.text)?.edges ?? []), ...row.edges];
      merged.set(row.text, { ...row, edges });
    }
    return [...services, ...deadlines, ...merged.values()];
  }

  /** `tool.result`, or with where it leads when that is not told otherwise. */
  private heardRow(i: EdgeIndex): Row {
    const edge = this.edge(i);
    const tone = toneOf(edge, this.chart);
    const isInside = edge.targetless || this.isIn(edge.target, edge.source);
    const text =
      edge.reason ?? (isInside ? heardOf(edge) : `${heardOf(edge)} → ${this.key(edge.target)}`);
    return { kind: 'heard', text, tone, edges: [i], faults: [] };
  }

  private placeOf(edge: ChartEdge): Place {
    const isService = this.serviceOf(edge) !== undefined;
    if (edge.kind === 'error' && isService) return 'fault';
    if (edge.targetless) return edge.kind === 'done' && isService ? 'service' : 'heard';
    if (edge.kind === 'after' && this.leadsWhereFaultsLead(edge)) return 'deadline';
    if (this.parents.has(edge.source)) return 'heard';
    const isWithin = this.groupOf(edge.source) === this.groupOf(edge.target);
    if (edge.reason !== undefined || !isWithin) return 'exit';
    return 'line';
  }

  private leadsWhereFaultsLead({ source, target }: ChartEdge): boolean {
    return this.chart.edges.some(
      (other) =>
        other.kind === 'error' &&
        other.source === source &&
        other.target === target &&
        !other.targetless,
    );
  }

  private serviceOf({ source, event }: ChartEdge) {
    return this.nodes.get(source)?.invoke.find(({ id }) => event.endsWith(`.actor.${id}`));
  }

  private groupOf(id: string): string {
    const node = this.nodes.get(id);
    if (!node?.parent || node === this.root) return id;
    if (node.parent !== this.root?.id) return this.groupOf(node.parent);
    return this.parents.has(id) ? id : LOOSE;
  }

  private isIn(id: string, ancestor: string): boolean {
    const parent = this.nodes.get(id)?.parent;
    return id === ancestor || (typeof parent === 'string' && this.isIn(parent, ancestor));
  }

  /** Back to a state that one is in is to where it begins. */
  private entered({ source, target }: ChartEdge): string {
    const initial = this.nodes.get(target)?.initial;
    return initial && this.isIn(source, target) ? initial : target;
  }

  private exitId(edge: ChartEdge): string {
    return JSON.stringify([
      edge.source,
      isEnding(edge, this.chart) ? '|ends' : edge.target,
      'exit',
    ]);
  }
  private exitText(edge: ChartEdge): string {
    if (edge.reason !== undefined) return edge.reason;
    const why = edge.kind === 'event' || edge.kind === 'after' ? heardOf(edge) : edge.guard;
    const words = edge.kind === 'event' && edge.guard ? `${why} · ${edge.guard}` : (why ?? 'else');
    return `${words} → ${this.key(edge.target)}`;
  }

  /** What is heard and which fact must hold. A deadline has its row, a reason its box. */
  private lineLabel(i: EdgeIndex): readonly Label[] {
    const edge = this.edge(i);
    if (this.places[i] === 'exit' || edge.kind === 'after') return [];
    if (edge.guard) {
      return [
        this.label(i, edge.kind === 'event' ? `${heardOf(edge)} · ${edge.guard}` : edge.guard),
      ];
    }
    const ways = this.chart.edges.filter(
      ({ source, kind }, k) =>
        source === edge.source &&
        kind !== 'after' &&
        (this.places[k] === 'line' || this.places[k] === 'exit'),
    );
    if (ways.length < 2) return [];
    return [this.label(i, edge.kind === 'always' ? 'else' : heardOf(edge))];
  }

  private label(i: EdgeIndex, text: string): Label {
    return { text, edge: i, tone: toneOf(this.edge(i), this.chart) };
  }
  private key(id: string): string {
    return this.nodes.get(id)?.key ?? id;
  }
  private edge(i: EdgeIndex): ChartEdge {
    return this.chart.edges[i] as ChartEdge;
  }
}

/** `after stageMs` is heard as `stageMs`. */
const heardOf = (edge: ChartEdge): string => edge.label.replace(/^after /, '');
