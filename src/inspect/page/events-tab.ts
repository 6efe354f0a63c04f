/** Every step, searched and filtered. */
import type { Step } from '../protocol.ts';
import { button, el, need, set } from './dom.ts';
import { reasonsOf, reasonTag } from './reason-tag.ts';
import type { Tab } from './tab.ts';
import type { View } from './view.ts';
import { VirtualList } from './virtual-list.ts';
import { count, duration, eventName, isInternal, shortState } from './words.ts';

const ROW = 28;
type Facet = 'all' | 'reasons' | 'changes' | 'errors' | 'own';
const facets: readonly (readonly [Facet, string, string])[] = [
  ['all', 'all', 'Every step'],
  ['reasons', 'reasons', 'Steps that have a reason'],
  ['changes', 'moves', 'Steps that led to another state'],
  ['own', 'own events', "Without the runtime's own events"],
  ['errors', 'errors', 'Failed services and requests, deadlines that ran out'],
];

export class EventsTab implements Tab {
  readonly element: HTMLElement;
  private readonly view: View;
  private readonly input = el('input.search');
  private readonly found = el('span.dim.found');
  private readonly list: VirtualList;
  private facet: Facet = 'all';
  private places: number[] = [];
  private key = '';
  private seen = 0;
  private shownCursor = -2;

  constructor(view: View) {
    this.view = view;
    this.list = new VirtualList('Events', ROW, (place) => this.row(this.places[place] ?? 0));
    set(this.input, {
      type: 'search',
      id: 'search',
      placeholder: 'Search event, state, reason, guard…  ( / )',
      'aria-label': 'Search events',
      spellcheck: 'false',
      autocomplete: 'off',
    });
    this.input.addEventListener('input', () => view.touch('tab'));
    const chips = facets.map(([facet, name, title]) => {
      const chip = button('button.chip', name, () => {
        this.facet = facet;
        for (const one of chips) one.setAttribute('aria-pressed', String(one === chip));
        view.touch('tab');
      });
      return set(chip, { title, 'aria-pressed': String(facet === 'all') });
    });
    this.element = el(
      'div.panel-fill',
      el('div.filters', this.input, el('div.chips', ...chips, this.found)),
      this.list.element,
    );
  }

  badge(): string {
    return count(this.view.steps.length);
  }

  focusSearch(): void {
    need('search').focus();
    this.input.select();
  }

  paint(): void {
    const { view } = this;
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const key = JSON.stringify([
      ...[view.instance, words, this.facet, view.chart?.chart.key, view.run.trims],
    ]);
    if (key !== this.key || view.steps.length < this.seen) {
      this.key = key;
      this.places = [];
      this.seen = 0;
    }
    for (; this.seen < view.steps.length; this.seen += 1) {
      const step = view.steps[this.seen];
      if (step && this.matches(step, words)) this.places.push(this.seen);
    }
    const isAll = words.length === 0 && this.facet === 'all';
    this.found.textContent = isAll ? '' : `${count(this.places.length)} found`;
    const selected = this.places.indexOf(view.cursor);
    const hasMoved = view.cursor !== this.shownCursor;
    this.shownCursor = view.cursor;
    this.list.show(this.places.length, hasMoved ? selected : undefined);
  }

  private matches(step: Step, words: readonly string[]): boolean {
    if (!isOf(step, this.facet)) return false;
    if (words.length === 0) return true;
    const text = [
      eventName(step.event),
      ...step.to,
      ...step.edges.flatMap(({ id, reason }) => [id, reason ?? '']),
      ...step.actions,
    ]
      .join(' ')
      .toLowerCase();
    return words.every((word) => text.includes(word));
  }

  private row(place: number): HTMLElement {
    const step = this.view.steps[place];
    if (step === undefined) return el('div.row');
    const isSelected = place === this.view.cursor;
    const before = this.view.steps[place - 1];
    const reasons = reasonsOf(step, this.view.chart?.chart);
    const name = eventName(step.event);
    const row = el(
      `div.row.event-row`,
      el('span.number', count(step.n + 1)),
      el(isInternal(step.event) ? 'span.event-name.dim' : 'span.event-name', name),
      ...reasons.map(({ reason, kind, why }) => reasonTag(reason, kind, why)),
      el('span.where', ...whereOf(step)),
      el('span.when', before ? `+${duration(step.at - before.at)}` : ''),
    );
    row.classList.toggle('is-selected', isSelected);
    row.addEventListener('click', () => this.view.go(place));
    const title = [name, step.to.map(shortState).join(', ')].join(' → ');
    return set(row, { title, 'aria-selected': String(isSelected) });
  }
}

/** In a narrow list the names of leaves are enough; their parents are on the chart. */
function whereOf({ to, status }: Step): readonly (Node | string)[] {
  if (to.length === 0) return [status];
  return to.flatMap((id, i) => {
    const name = shortState(id);
    const at = name.lastIndexOf('.') + 1;
    const comma = i > 0 ? [', '] : [];
    return [...comma, el('span.where-parent', name.slice(0, at)), name.slice(at)];
  });
}

function isOf(step: Step, facet: Facet): boolean {
  switch (facet) {
    case 'all':
      return true;
    case 'reasons':
      return step.reason !== undefined;
    case 'changes':
      return step.from.join() !== step.to.join();
    case 'own':
      return !isInternal(step.event);
    case 'errors':
      return /^xstate\.(error|after)\.|failed$|ranOut$|^abort$/.test(step.event);
  }
}
