/** Services at work, one under the other along the time: attempts, outcomes, the last error. */
import type { ServiceEntry } from '../protocol.ts';
import { el, set } from './dom.ts';
import { newest } from './run.ts';
import { nothing, type Tab } from './tab.ts';
import { lineOf } from './values.ts';
import type { View } from './view.ts';
import { VirtualList } from './virtual-list.ts';
import { count, duration, shortState } from './words.ts';

const ROW = 30;

export class ServicesTab implements Tab {
  readonly element: HTMLElement;
  private readonly view: View;
  private readonly head = el('div.service-head');
  private readonly list: VirtualList;
  private services: ServiceEntry[] = [];
  private range = { from: 0, to: 1 };

  constructor(view: View) {
    this.view = view;
    this.list = new VirtualList('Services', ROW, (place) => this.row(place));
    this.element = el('div.panel-fill', this.head, this.list.element);
  }

  paint(): void {
    const { seq, current } = this.view;
    this.services = [...(current?.services.values() ?? [])].flatMap(
      (life) => newest(life, seq) ?? [],
    );
    if (this.services.length === 0) {
      this.head.replaceChildren(nothing('No service has been at work yet.'));
      this.list.show(0);
      return;
    }
    const ends = this.services.map(({ endedAt }) => endedAt ?? this.view.at);
    const from = Math.min(...this.services.map(({ startedAt }) => startedAt));
    this.range = { from, to: Math.max(from + 1, ...ends) };
    const failed = this.services.filter(({ status }) => status === 'error');
    const last = failed.at(-1);
    const facts = [
      `${count(this.services.length)} runs of services`,
      `${count(failed.length)} failed`,
      `over ${duration(this.range.to - from)}`,
    ];
    this.head.replaceChildren(
      el('p.dim', facts.join(' · ')),
      ...(last ? [el('p.last-error', el('b', `${last.name}: `), last.error ?? 'failed')] : []),
    );
    this.list.show(this.services.length);
  }

  private row(place: number): HTMLElement {
    const service = this.services[place];
    if (service === undefined) return el('div.row');
    const { from, to } = this.range;
    const end = service.endedAt ?? to;
    const bar = el(`span.span-bar.is-${service.status}`);
    bar.style.left = `${(100 * (service.startedAt - from)) / (to - from)}%`;
    bar.style.width = `${Math.max(0.5, (100 * (end - service.startedAt)) / (to - from))}%`;
    const outcome = service.error ?? (service.outcome ? lineOf(service.outcome) : '');
    const name = el(
      'span.service-name',
      service.name,
      service.attempt > 1 && el('span.attempt', `#${service.attempt}`),
    );
    const row = el(
      'div.row.service-row',
      name,
      el('span.track', bar),
      el('span.when', service.status === 'active' ? 'running' : duration(end - service.startedAt)),
    );
    row.addEventListener('click', () => this.goTo(service));
    return set(row, {
      title: [service.name, shortState(service.state ?? ''), service.status, outcome]
        .filter(Boolean)
        .join(' · '),
      'aria-selected': 'false',
    });
  }

  /** To the step after which it began. */
  private goTo(service: ServiceEntry): void {
    const at = this.view.steps.findLastIndex(({ at: when }) => when <= service.startedAt);
    if (at >= 0) this.view.go(at);
  }
}
