/** Every reason of the chart, also those that this run has never had. */
import { isEnding } from '../chart/plan.ts';
import { stepAfter } from './counts.ts';
import { el, set } from './dom.ts';
import type { ReasonKind } from './reason-tag.ts';
import { heading, nothing, type Tab } from './tab.ts';
import type { View } from './view.ts';
import { count } from './words.ts';

export class ReasonsTab implements Tab {
  readonly element = el('div.panel-body');
  private readonly view: View;
  private key = '';

  constructor(view: View) {
    this.view = view;
  }

  badge(): string {
    const times = this.view.steps.reduce((sum, { reason }) => sum + (reason ? 1 : 0), 0);
    return times > 0 ? count(times) : '';
  }

  paint(): void {
    const chart = this.view.chart?.chart;
    const known = chart?.edges.filter(({ reason }) => reason !== undefined) ?? [];
    const key = JSON.stringify([chart?.key, this.view.instance, this.view.cursor]);
    if (key === this.key) return;
    this.key = key;
    if (!chart || known.length === 0) {
      this.element.replaceChildren(nothing('The edges of this chart carry no reasons.'));
      return;
    }
    const times = this.timesOf();
    const most = Math.max(1, ...times.values());
    const part = (kind: ReasonKind, title: string) => {
      const own = known.filter(
        (edge) => (isEnding(edge, chart) ? 'terminal' : 'continue') === kind,
      );
      const names = [...new Map(own.map((edge) => [edge.reason ?? '', edge.why ?? '']))];
      names.sort((a, b) => (times.get(b[0]) ?? 0) - (times.get(a[0]) ?? 0));
      return [
        heading(title),
        el('ul.bars', ...names.map(([name, why]) => this.bar(name, why, kind, times, most))),
      ];
    };
    this.element.replaceChildren(
      ...part('continue', 'Why it went on'),
      ...part('terminal', 'Why it ends'),
    );
  }

  private timesOf(): ReadonlyMap<string, number> {
    const times = new Map(Object.entries(this.view.current?.base?.reasons ?? {}));
    for (const { edges } of this.view.steps.slice(0, this.view.cursor + 1))
      for (const { reason } of edges) if (reason) times.set(reason, (times.get(reason) ?? 0) + 1);
    return times;
  }

  private bar(
    name: string,
    why: string,
    kind: ReasonKind,
    times: ReadonlyMap<string, number>,
    most: number,
  ): HTMLElement {
    const own = times.get(name) ?? 0;
    const fill = el('span.bar-fill');
    fill.style.width = `${(100 * own) / most}%`;
    const row = el(
      'button.bar',
      fill,
      el('span.bar-name', name),
      el('span.bar-count', own > 0 ? `${count(own)}×` : 'never'),
    );
    row.type = 'button';
    row.classList.add(kind);
    row.classList.toggle('is-zero', own === 0);
    set(row, { title: why });
    row.addEventListener('click', () => {
      const to = stepAfter(this.view.steps, this.view.cursor, (step) =>
        step.edges.some(({ reason }) => reason === name),
      );
      if (to !== undefined) this.view.go(to);
    });
    return el('li', row);
  }
}
