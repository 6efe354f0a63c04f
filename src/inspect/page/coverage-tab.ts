/** Which edges the tests have taken: painted on the chart, and those that nobody has. */
import type { ChartEdge, Coverage } from '../protocol.ts';
import { button, el, set } from './dom.ts';
import { heading, nothing, type Tab } from './tab.ts';
import type { View } from './view.ts';
import { count, eventName, shortState } from './words.ts';

export class CoverageTab implements Tab {
  readonly element = el('div.panel-body');
  private readonly view: View;
  private key = '';

  constructor(view: View) {
    this.view = view;
  }

  paint(): void {
    const { chart, run } = this.view;
    const coverage = chart && this.view.coverage.get(chart.chart.key);
    const key = JSON.stringify([
      chart?.chart.key,
      Boolean(coverage),
      this.view.isCoveragePainted,
      run.hello?.source,
    ]);
    if (key === this.key) return;
    this.key = key;
    if (!chart || !coverage) {
      this.element.replaceChildren(
        nothing('No coverage was given.'),
        el('p.dim', 'The tests write which transitions they took. Show them here with:'),
        el('pre.mono', 'npm test\nescapement inspect --coverage coverage/chart.json'),
      );
      return;
    }
    this.element.replaceChildren(...this.partsOf(chart.chart.edges, coverage));
  }

  private partsOf(edges: readonly ChartEdge[], coverage: Coverage): readonly Node[] {
    const times = (edge: ChartEdge) => coverage.taken[edge.id] ?? 0;
    const missed = edges.filter((edge) => times(edge) === 0);
    const taken = edges.filter((edge) => times(edge) > 0);
    taken.sort((a, b) => times(a) - times(b));
    const share = Math.floor((100 * taken.length) / Math.max(1, edges.length));
    const fill = el('span.bar-fill');
    fill.style.width = `${share}%`;
    const paint = button('button', 'Paint it on the chart', () => {
      this.view.isCoveragePainted = !this.view.isCoveragePainted;
      this.view.touch('chart', 'tab');
    });
    set(paint, { 'aria-pressed': String(this.view.isCoveragePainted) });
    return [
      el(
        'div.tiles',
        el('div.tile', el('span.tile-value', `${share} %`), el('span.dim', 'of the edges')),
        el('div.tile', el('span.tile-value', count(taken.length)), el('span.dim', 'taken')),
        el('div.tile', el('span.tile-value', count(missed.length)), el('span.dim', 'never')),
        el('div.tile', el('span.tile-value', count(coverage.runs)), el('span.dim', 'runs')),
      ),
      el('div.coverage-bar', fill),
      paint,
      heading('Never taken', el('span.badge', count(missed.length))),
      missed.length > 0 ? list(missed, times) : nothing('Every edge was taken.'),
      heading('Taken, rarest first', el('span.badge', count(taken.length))),
      list(taken, times),
    ];
  }
}

const list = (edges: readonly ChartEdge[], times: (edge: ChartEdge) => number) =>
  el(
    'ul.coverage',
    ...edges.map((edge) =>
      el(
        'li',
        el('span.coverage-edge', `${shortState(edge.source)} → `, targetOf(edge)),
        el('span.dim', whyOf(edge)),
        el('span.when', times(edge) > 0 ? `${count(times(edge))}×` : 'never'),
      ),
    ),
  );
const targetOf = (edge: ChartEdge) =>
  edge.reason ?? (edge.targetless ? 'stays' : shortState(edge.target));
const whyOf = ({ event, guard }: ChartEdge) =>
  `${event === '' ? 'always' : eventName(event)}${guard === undefined ? '' : ` if ${guard}`}`;
