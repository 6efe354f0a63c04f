/** The chart: where the run is, how it came there, and what it has never done. */
import type { Chart, ChartEdge, Step } from '../protocol.ts';
import { Camera } from './camera.ts';
import { Counts, stepBefore } from './counts.ts';
import { el, need } from './dom.ts';
import { nestedList } from './nested-list.ts';
import type { LoadedChart, View } from './view.ts';
import { count, duration, eventName, short, shortState } from './words.ts';

/** A part of the drawing and the edges or the state that it stands for. */
interface Drawn {
  readonly loaded: LoadedChart;
  readonly root: Element;
  readonly states: ReadonlyMap<string, Element>;
  readonly edges: ReadonlyMap<string, readonly Element[]>;
}

export class ChartView {
  private readonly view: View;
  private readonly stage = need('stage');
  private readonly canvas = need('canvas');
  private readonly card = need('card');
  private readonly camera: Camera;
  private readonly counts = new Counts();
  private drawn: Drawn | undefined;
  private lit: Element[] = [];
  private counted: Element[] = [];
  private readonly onState: (state: string) => void;

  /** @param onState a state was clicked and control is allowed. */
  constructor(view: View, onState: (state: string) => void) {
    this.view = view;
    this.onState = onState;
    this.camera = new Camera(this.stage, this.canvas);
    this.stage.addEventListener('pointerover', ({ target }) => this.hover(target as Element));
    this.stage.addEventListener('pointerleave', () => this.hover(undefined));
    this.stage.addEventListener('click', ({ target }) => this.click(target as Element));
    need('fit').addEventListener('click', () => this.camera.fit());
    need('zoom-in').addEventListener('click', () => this.camera.zoom(1.3));
    need('zoom-out').addEventListener('click', () => this.camera.zoom(1 / 1.3));
    view.onPaint((parts) => {
      if (parts.has('chart')) this.paint();
      if (parts.has('chart') || parts.has('clock')) this.paintDeadlines();
      if (parts.has('chart') || parts.has('control')) this.paintBreakpoints();
    });
  }

  fit(): void {
    this.camera.fit();
  }

  private mount(loaded: LoadedChart | undefined): void {
    this.drawn = undefined;
    this.lit = [];
    this.counted = [];
    this.card.hidden = true;
    if (loaded === undefined) {
      this.canvas.replaceChildren();
      return;
    }
    const root = drawingOf(loaded);
    this.canvas.replaceChildren(root);
    this.drawn = { loaded, root, ...indexOf(root, loaded.chart) };
    this.stage.classList.toggle('is-list', loaded.svg === undefined);
    if (loaded.svg === undefined) this.canvas.style.transform = '';
    else this.camera.begin();
  }

  private paint(): void {
    const { view } = this;
    if (view.chart !== this.drawn?.loaded) this.mount(view.chart);
    this.paintEmpty();
    if (this.drawn === undefined) return;
    for (const element of this.lit) element.classList.remove('is-on', 'is-hot', 'is-deep');
    this.lit = [];
    const { step } = view;
    for (const id of step?.on ?? []) this.light(this.drawn.states.get(id), 'is-on');
    for (const id of step?.to ?? []) this.light(this.drawn.states.get(id), 'is-deep');
    for (const { id } of step?.edges ?? [])
      for (const element of this.drawn.edges.get(id) ?? []) {
        this.light(element, 'is-hot');
        if (element.classList.contains('line')) element.parentNode?.append(element);
      }
    this.paintCounts();
    if (view.isFollowing) this.camera.keepInView(this.places(step));
  }

  /** Of a step, what must be seen first: where it is now, how it ended, how it came there. */
  private places(step: Step | undefined): readonly Element[] {
    const { drawn } = this;
    if (!drawn || !step) return [];
    const leaves = step.to.flatMap((id) => drawn.states.get(id) ?? []);
    const taken = step.edges.toReversed().flatMap(({ id }) => drawn.edges.get(id) ?? []);
    const named = taken.filter((element) => !element.classList.contains('line'));
    return [...leaves, ...named];
  }

  /** Why there is nothing to be seen, if so. */
  private paintEmpty(): void {
    const { view } = this;
    const isEmpty = this.drawn === undefined;
    this.stage.classList.toggle('is-empty', isEmpty);
    need('stage-empty').hidden = !isEmpty;
    need('stage-tools').hidden = isEmpty || this.drawn?.loaded.svg === undefined;
    if (!isEmpty) return;
    const [title, text] = emptyWords(view);
    need('stage-title').textContent = title;
    need('stage-text').textContent = text;
  }

  private light(element: Element | undefined, name: string): void {
    if (element === undefined) return;
    element.classList.add(name);
    this.lit.push(element);
  }

  private paintCounts(): void {
    const { drawn, view } = this;
    if (drawn === undefined) return;
    this.counts.advance(view.current, view.cursor);
    const coverage = view.isCoveragePainted
      ? view.coverage.get(drawn.loaded.chart.key)?.taken
      : undefined;
    drawn.root.classList.toggle('is-coverage', coverage !== undefined);
    for (const element of this.counted) element.classList.remove('is-taken');
    this.counted = [];
    for (const edge of drawn.loaded.chart.edges) {
      const times = coverage ? (coverage[edge.id] ?? 0) : (this.counts.edges.get(edge.id) ?? 0);
      for (const element of drawn.edges.get(edge.id) ?? []) {
        if (times > 0 && !element.classList.contains('is-taken')) {
          element.classList.add('is-taken');
          this.counted.push(element);
        }
      }
    }
    for (const place of drawn.root.querySelectorAll('.count')) {
      const edges = edgesOf(place, drawn.loaded.chart);
      const times = edges.reduce(
        (sum, { id }) => sum + (coverage ? (coverage[id] ?? 0) : (this.counts.edges.get(id) ?? 0)),
        0,
      );
      const text = times > 0 && edges.length > 0 ? `${short(times)}×` : '';
      if (place.textContent !== text) place.textContent = text;
    }
  }

  /** The time that is left, behind the name of each deadline that runs. */
  private paintDeadlines(): void {
    const { drawn, view } = this;
    if (drawn === undefined) return;
    for (const row of drawn.root.querySelectorAll('.row.deadline.is-running')) {
      row.classList.remove('is-running', 'is-held');
      const place = row.querySelector('.left');
      if (place) place.textContent = '';
    }
    for (const deadline of view.runningDeadlines()) {
      const state = drawn.states.get(deadline.state ?? '');
      const rows = state ? [...state.querySelectorAll('.row.deadline')] : [];
      const row = rows.find((one) => one.getAttribute('data-row') === deadline.name);
      const place = row?.querySelector('.left');
      if (!row || !place) continue;
      row.classList.add('is-running');
      row.classList.toggle('is-held', deadline.status === 'held');
      place.textContent = duration(leftOf(deadline, view));
    }
  }

  private paintBreakpoints(): void {
    const { drawn, view } = this;
    if (drawn === undefined) return;
    const isAllowed = view.run.hello?.control?.hold === true;
    drawn.root.classList.toggle('is-controlled', isAllowed);
    const points = new Set(view.run.control.breakpoints);
    const { held } = view.run.control;
    const isHere = held?.instance === view.instance;
    for (const [id, element] of drawn.states) {
      element.classList.toggle('has-breakpoint', points.has(id));
      element.classList.toggle('is-held', isHere && held?.before === id);
    }
    // what would be taken, as far as that can be said
    for (const element of drawn.root.querySelectorAll('.is-next'))
      element.classList.remove('is-next');
    for (const id of (isHere && view.isLive && held?.next?.edges) || [])
      for (const element of drawn.edges.get(id) ?? []) element.classList.add('is-next');
  }

  private hover(target: Element | undefined): void {
    const { drawn } = this;
    if (drawn === undefined) return;
    for (const element of drawn.root.querySelectorAll('.is-focus'))
      element.classList.remove('is-focus');
    const part = target?.closest('[data-e], [data-n]');
    const isOver = part !== null && part !== undefined && this.canvas.contains(part);
    const { chart } = drawn.loaded;
    const edges = isOver ? edgesAt(part, chart) : [];
    drawn.root.classList.toggle('has-focus', edges.length > 0);
    this.card.hidden = !isOver;
    if (!isOver) return;
    for (const { id } of edges)
      for (const element of drawn.edges.get(id) ?? []) element.classList.add('is-focus');
    const state = stateAt(part, chart);
    this.card.replaceChildren(
      ...(state
        ? [this.stateCard(state)]
        : edges.slice(0, 9).map((edge) => edgeCard(edge, this.counts.edges.get(edge.id) ?? 0))),
    );
  }

  private stateCard(id: string): HTMLElement {
    const node = this.drawn?.loaded.chart.nodes.find((one) => one.id === id);
    const services = node?.invoke.map(({ src }) => src).join(', ');
    const hint =
      this.view.run.hello?.control?.hold === true &&
      el('div.dim', 'click: a breakpoint before this state');
    return el(
      'div.card-part',
      el('strong', shortState(id)),
      Boolean(node?.description) && el('div', node?.description ?? ''),
      Boolean(services) && el('div.dim', `runs ${services}`),
      node && node.tags.length > 0 && el('div.dim', `tags: ${node.tags.join(', ')}`),
      hint,
    );
  }

  private click(target: Element): void {
    const { drawn, view } = this;
    if (drawn === undefined || this.camera.hasDragged) return;
    const part = target.closest('[data-e], [data-n]');
    if (part === null || !this.canvas.contains(part)) return;
    const state = stateAt(part, drawn.loaded.chart);
    if (state !== undefined && view.run.hello?.control?.hold === true) {
      this.onState(state);
      return;
    }
    const ids = new Set(edgesAt(part, drawn.loaded.chart).map(({ id }) => id));
    const to = stepBefore(view.steps, view.cursor, (step) =>
      state === undefined ? step.edges.some(({ id }) => ids.has(id)) : step.to.includes(state),
    );
    if (to !== undefined) view.go(to);
  }
}

function emptyWords(view: View): readonly [title: string, text: string] {
  const { chartKey, connection, current, run } = view;
  if (chartKey && view.missingCharts.has(chartKey)) {
    const text =
      'The process does not answer. Its steps, as far as they are here, can be looked at.';
    return ['The chart could not be loaded', text];
  }
  if (chartKey) return ['Loading the chart…', ''];
  if (current) {
    const text = 'This actor is no machine. Its steps are in the tab Events.';
    return ['There is no chart', text];
  }
  if (connection === 'connecting') return ['Connecting…', ''];
  if (run.ended !== undefined) {
    const text = 'Open another recording from the File menu, or drop one here.';
    return ['Nothing has run', text];
  }
  const text =
    'The chart appears with the first event. A recording can be opened from the File menu, or dropped here.';
  return ['Nothing has run yet', text];
}

/** What a drawing of ours is made of. */
const DRAWN = new Set('svg g defs marker path rect circle text tspan'.split(' '));
/** Of these none leads away, loads or runs anything. */
const isHarmless = (element: Element): boolean =>
  element.namespaceURI === 'http://www.w3.org/2000/svg' &&
  DRAWN.has(element.localName) &&
  element.getAttributeNames().every((name) => !/^on|href|^style$/i.test(name));

/**
 * SVG comes in as XML, never as HTML: what a machine is called stays text. A recording may come from
 * anybody: a drawing with more in it than a drawing needs is not shown.
 */
function drawingOf(loaded: LoadedChart): Element {
  if (loaded.svg === undefined) return nestedList(loaded.chart, loaded.why);
  const parsed = new DOMParser().parseFromString(loaded.svg, 'image/svg+xml');
  const isBroken = parsed.querySelector('parsererror') !== null;
  const isSafe = [parsed.documentElement, ...parsed.querySelectorAll('*')].every(isHarmless);
  if (!isBroken && !isSafe)
    return nestedList(loaded.chart, 'the drawing of this chart holds more than a drawing needs');
  if (isBroken) return nestedList(loaded.chart, 'the drawing of this chart is broken');
  const svg = document.importNode(parsed.documentElement, true);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', `Chart of ${loaded.chart.id}`);
  return svg;
}

function indexOf(root: Element, chart: Chart): Pick<Drawn, 'states' | 'edges'> {
  const states = new Map<string, Element>();
  for (const element of root.querySelectorAll('[data-n]')) {
    const node = chart.nodes[Number(element.getAttribute('data-n'))];
    if (node) states.set(node.id, element);
  }
  const edges = new Map<string, Element[]>();
  for (const element of root.querySelectorAll('[data-e]'))
    for (const { id } of edgesOf(element, chart))
      edges.set(id, [...(edges.get(id) ?? []), element]);
  return { states, edges };
}

const edgesOf = (element: Element, chart: Chart): readonly ChartEdge[] =>
  (element.closest('[data-e]')?.getAttribute('data-e') ?? '')
    .split(' ')
    .flatMap((place) => (place === '' ? [] : (chart.edges[Number(place)] ?? [])));
const stateAt = (part: Element, chart: Chart): string | undefined =>
  part.hasAttribute('data-e') ? undefined : chart.nodes[Number(part.getAttribute('data-n'))]?.id;
/** Of a state: all that lead in or out. */
function edgesAt(part: Element, chart: Chart): readonly ChartEdge[] {
  const state = stateAt(part, chart);
  if (state === undefined) return edgesOf(part, chart);
  return chart.edges.filter(
    ({ source, target, targetless }) => source === state || (target === state && !targetless),
  );
}

/** Time left on a deadline, where the reader stands. */
export function leftOf(
  deadline: { readonly endsAt?: number; readonly leftMs?: number; readonly status: string },
  view: View,
): number {
  if (deadline.status === 'held') return deadline.leftMs ?? 0;
  const now =
    view.isLive && view.run.ended === undefined ? Date.now() - clockOffset(view) : view.at;
  return Math.max(0, (deadline.endsAt ?? now) - now);
}
/** How far this page's clock is ahead of the server's. */
const clockOffset = (view: View) => view.clockOffset;

export function edgeCard(edge: ChartEdge, times: number): HTMLElement {
  const to = edge.targetless ? 'stays' : shortState(edge.target);
  const event = edge.event === '' ? 'always' : eventName(edge.event);
  return el(
    'div.card-part',
    el('strong', `${shortState(edge.source)} → ${to}`),
    el('div', el('span.mono', event), edge.guard !== undefined && ` if ${edge.guard}`),
    edge.reason !== undefined && el('div', el('span.reason', edge.reason), ` ${edge.why ?? ''}`),
    edge.actions.length > 0 && el('div.dim', `does ${edge.actions.join(', ')}`),
    el('div.dim', times > 0 ? `taken ${count(times)}×` : 'never taken'),
  );
}
