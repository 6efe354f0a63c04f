/**
 * What the reader looks at: which instance, which step, which tab. Whoever changes something says
 * what must be painted anew; it is painted once per frame.
 */
import type { Chart, Coverage, Step } from '../protocol.ts';
import { type InstanceRun, newest, type Run } from './run.ts';

export const tabNames = [
  'step',
  'conversation',
  'requests',
  'events',
  'reasons',
  'services',
  'coverage',
] as const;
export type TabName = (typeof tabNames)[number];
/** Parts of the page that are painted apart. */
export type Part = 'header' | 'chart' | 'tab' | 'timeline' | 'control' | 'clock';

/** A chart with what the page asks of it. */
export interface LoadedChart {
  readonly chart: Chart;
  readonly svg: string | undefined;
  readonly why: string | undefined;
}

export class View {
  run: Run;
  instance: string | undefined;
  /** Place in the steps of the instance; -1: none yet. */
  cursor = -1;
  isLive = true;
  isFollowing = true;
  tab: TabName = 'step';
  isCoveragePainted = false;
  readonly charts = new Map<string, LoadedChart>();
  /** Charts that the server did not give: asked for again when it is back. */
  readonly missingCharts = new Set<string>();
  /** Of the server, or `recording`: nobody is connected to. */
  connection: 'connecting' | 'connected' | 'lost' | 'ended' = 'connecting';
  readonly coverage = new Map<string, Coverage | null>();
  private readonly stale = new Set<Part>();
  private frame = 0;
  private readonly painters: ((parts: ReadonlySet<Part>) => void)[] = [];
  /** How far this page's clock is ahead of the server's, ms. */
  clockOffset = 0;
  /** Longest paint, ms: read by tests. */
  longestPaint = 0;

  constructor(run: Run) {
    this.run = run;
  }

  onPaint(painter: (parts: ReadonlySet<Part>) => void): void {
    this.painters.push(painter);
  }
  touch(...parts: readonly Part[]): void {
    for (const part of parts) this.stale.add(part);
    this.frame ||= requestAnimationFrame(() => this.paint());
  }
  touchAll(): void {
    this.touch('header', 'chart', 'tab', 'timeline', 'control', 'clock');
  }
  private paint(): void {
    this.frame = 0;
    const parts = new Set(this.stale);
    this.stale.clear();
    const began = performance.now();
    for (const painter of this.painters) painter(parts);
    this.longestPaint = Math.max(this.longestPaint, performance.now() - began);
  }

  get current(): InstanceRun | undefined {
    return this.instance === undefined ? undefined : this.run.instances.get(this.instance);
  }
  get steps(): readonly Step[] {
    return this.current?.steps ?? [];
  }
  get step(): Step | undefined {
    return this.steps[this.cursor];
  }
  get chart(): LoadedChart | undefined {
    const key = this.chartKey;
    return key ? this.charts.get(key) : undefined;
  }
  /** Before anything runs: the chart of what will run, where that is known. */
  get chartKey(): string | null | undefined {
    return this.current ? this.current.entry.chart : this.run.hello?.charts[0];
  }
  /** Entries up to here are what has happened. A step's own words come after it. */
  get seq(): number {
    const next = this.steps[this.cursor + 1];
    return this.isLive || next === undefined ? Number.POSITIVE_INFINITY : next.seq - 1;
  }
  /** The time at which the reader stands. */
  get at(): number {
    return this.step?.at ?? this.run.lastAt;
  }

  pick(instance: string): void {
    this.instance = instance;
    this.cursor = this.steps.length - 1;
    this.touchAll();
  }
  go(to: number): void {
    if (this.steps.length === 0) return;
    this.isLive = false;
    this.cursor = Math.max(0, Math.min(this.steps.length - 1, to));
    this.touchAll();
  }
  /** Places have moved: back to the same step, or to the oldest that is kept. */
  standAt(seq: number | undefined): void {
    if (this.instance !== undefined && this.current === undefined) this.instance = undefined;
    const at = seq === undefined ? -1 : this.steps.findIndex((step) => step.seq >= seq);
    this.cursor = at < 0 ? this.steps.length - 1 : at;
  }
  live(): void {
    this.isLive = true;
    this.cursor = this.steps.length - 1;
    this.touchAll();
  }
  show(tab: TabName): void {
    this.tab = tab;
    this.touch('tab', 'header');
  }

  /** Deadlines that run, or are held, where the reader stands. */
  runningDeadlines() {
    const { current, seq, step } = this;
    const isHere = (state: string | null) => state === null || step?.on.includes(state) === true;
    return [...(current?.deadlines.values() ?? [])]
      .flatMap((life) => newest(life, seq) ?? [])
      .filter(({ status, state }) => (status === 'running' || status === 'held') && isHere(state));
  }
}
