/** One step: what it changed first, then why it was taken, then all that was known. */
import type { Step } from '../protocol.ts';
import { button, el, lazyDetails } from './dom.ts';
import { reasonsOf, reasonTag } from './reason-tag.ts';
import type { InstanceRun } from './run.ts';
import type { Source } from './source.ts';
import { facts, heading, nothing, type Tab } from './tab.ts';
import { diffOf, treeOf } from './values.ts';
import type { View } from './view.ts';
import { clock, count, duration, eventName, shortState } from './words.ts';

/** Without its chart an edge is known by its id alone: `source|event|index`. */
function wordsOfId(id: string): readonly Node[] {
  const [source = id, event = ''] = id.split('|');
  const heard = event === '' ? 'always' : eventName(event);
  return [el('div', shortState(source)), el('div.dim', heard)];
}

export class StepTab implements Tab {
  readonly element = el('div.panel-body');
  private readonly view: View;
  private readonly source: () => Source;
  private shown: Step | undefined;
  private shownChart: unknown;

  constructor(view: View, source: () => Source) {
    this.view = view;
    this.source = source;
  }

  paint(): void {
    const { step, chart } = this.view;
    if (step === undefined) {
      this.shown = undefined;
      this.element.replaceChildren(nothing(this.emptyText()));
      return;
    }
    if (step === this.shown && chart === this.shownChart) return;
    this.shown = step;
    this.shownChart = chart;
    this.element.replaceChildren(...this.partsOf(step));
    this.element.scrollTop = 0;
  }

  private emptyText(): string {
    const { run } = this.view;
    if (run.ended !== undefined) return 'This run has no step.';
    return 'Waiting for the first event. It appears here as soon as the run begins.';
  }

  private partsOf(step: Step): readonly Node[] {
    const before = this.view.steps[this.view.cursor - 1];
    const changes = step.diff.length + step.moreOps;
    return [
      this.head(step, before),
      heading('What changed', el('span.badge', count(changes))),
      step.diff.length > 0 ? diffOf(step.diff, step.moreOps) : nothing('Nothing in the context.'),
      heading('Why'),
      ...this.why(step),
      ...this.around(step),
      heading('More'),
      lazyDetails('Event', (host) =>
        host.append(treeOf((path) => this.source().event(step.seq, path))),
      ),
      lazyDetails('Whole context after this step', (host) =>
        host.append(treeOf((path) => this.source().context(step.seq, path))),
      ),
    ];
  }

  private head(step: Step, before: Step | undefined): HTMLElement {
    const reasons = reasonsOf(step, this.view.chart?.chart);
    const from = step.from.map(shortState).join(', ') || 'begin';
    const to = step.to.map(shortState).join(', ') || step.status;
    const since = before && ` (+${duration(step.at - before.at)})`;
    const rows: [string, Node | string][] = [
      ['event', el('span.mono.event', eventName(step.event))],
      ['state', from === to ? el('span', to) : el('span', from, el('span.arrow', ' → '), to)],
      ['time', el('span.mono', clock(step.at), el('span.dim', since ?? ''))],
    ];
    const { current } = this.view;
    if (current?.entry.role === 'agent') rows.unshift(['agent of', this.callerOf(current)]);
    if (step.iteration !== undefined) rows.push(['iteration', count(step.iteration)]);
    if (step.status !== 'active') rows.push(['status', step.status]);
    const sentences = reasons.map(({ reason, kind, why }) =>
      el(`p.why.${kind}`, reasonTag(reason, kind), el('span', why ?? '')),
    );
    return el('section.step-head', heading(`Step ${count(step.n + 1)}`), ...sentences, facts(rows));
  }

  /** Leads to the turn that an agent works for. */
  private callerOf({ entry }: InstanceRun): Node | string {
    const caller = entry.parent === null ? undefined : this.view.run.instances.get(entry.parent);
    if (caller === undefined) return 'a turn that is not kept';
    return button('button.link', caller.entry.title, () => this.view.pick(caller.id));
  }

  /** Each edge with the fact that opened it and what was done on it. */
  private why(step: Step): readonly Node[] {
    if (step.edges.length === 0) return [nothing('No transition: the event was only heard.')];
    const chart = this.view.chart?.chart;
    const rows = step.edges.map(({ id, reason }) => {
      const edge = chart?.edges.find((one) => one.id === id);
      if (edge === undefined) return el('li', ...wordsOfId(id));
      const to = edge.targetless ? 'stays' : shortState(edge.target);
      const heard = edge.event === '' ? 'always' : eventName(edge.event);
      return el(
        'li',
        el('div', shortState(edge.source), el('span.arrow', ' → '), to),
        el('div.dim', heard, edge.guard !== undefined && el('span', ' if ', el('b', edge.guard))),
        edge.actions.length > 0 && el('div.dim', `does ${edge.actions.join(', ')}`),
        reason !== undefined && el('div.dim', `reason ${reason}`),
      );
    });
    return [el('ol.edges', ...rows)];
  }

  /** What the host heard because of this step, and what runs against the clock. */
  private around(step: Step): readonly Node[] {
    const { seq } = this.view;
    const said = this.view.run.messages.filter(
      (message) =>
        message.instance === step.instance && message.seq > step.seq && message.seq <= seq,
    );
    const waits = this.view.runningDeadlines();
    const parts: Node[] = [];
    if (said.length > 0 && said.length < 30)
      parts.push(
        heading('Said'),
        el(
          'ul.said',
          ...said.map((message) => el('li', el('span.dim', `${message.speaker} `), message.gist)),
        ),
      );
    if (waits.length > 0)
      parts.push(
        heading('Deadlines'),
        facts(
          waits.map((wait): [string, string] => [
            wait.name,
            `${duration(wait.ms)}${wait.status === 'held' ? ', held' : ''} in ${shortState(wait.state ?? '')}`,
          ]),
        ),
      );
    return parts;
  }
}
