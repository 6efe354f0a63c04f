/** Every request to a model: what it cost, what the cache had, and what changed since the last one. */
import type { AnswerEntry, InstanceBase, RequestEntry, Tokens } from '../protocol.ts';
import { el, lazyDetails, set } from './dom.ts';
import type { Source } from './source.ts';
import { facts, heading, nothing, type Tab } from './tab.ts';
import { diffOf, treeOf } from './values.ts';
import type { View } from './view.ts';
import { count, duration, short, usd } from './words.ts';

/** Only so many are in the page: the newest. */
const SHOWN = 400;

export class RequestsTab implements Tab {
  readonly element = el('div.panel-body');
  private readonly view: View;
  private readonly source: () => Source;
  private readonly cards = new Map<
    string,
    { answer: AnswerEntry | undefined; card: HTMLElement }
  >();
  private key = '';
  private trims = 0;

  constructor(view: View, source: () => Source) {
    this.view = view;
    this.source = source;
  }

  badge(): string {
    const { instance, run } = this.view;
    const all = instance === undefined ? [] : run.requestsOf(instance);
    return all.length > 0 ? count(all.length) : '';
  }

  paint(): void {
    const { instance, run, seq } = this.view;
    const all = instance === undefined ? [] : run.requestsOf(instance);
    const requests = all.filter((request) => request.seq <= seq);
    const answers = requests.flatMap(({ id }) => this.answerOf(id) ?? []);
    const key = JSON.stringify([instance, requests.length, answers.length, run.trims]);
    if (key === this.key) return;
    if (run.trims !== this.trims) this.cards.clear();
    this.trims = run.trims;
    this.key = key;
    if (requests.length === 0) {
      this.element.replaceChildren(nothing('No request has been made yet.'));
      return;
    }
    const largest = Math.max(1, ...answers.map(({ usage }) => promptOf(usage)));
    const rows = requests
      .slice(-SHOWN)
      .reverse()
      .map((request) => this.cardOf(request, largest));
    this.element.replaceChildren(
      this.totals(answers, instance === undefined ? [] : run.forgottenOf(instance)),
      heading('Requests', el('span.badge', count(requests.length))),
      ...rows,
    );
  }

  private answerOf(request: string): AnswerEntry | undefined {
    const answer = this.view.run.answers.get(request);
    return answer && answer.seq <= this.view.seq ? answer : undefined;
  }

  private totals(answers: readonly AnswerEntry[], forgotten: readonly InstanceBase[]): HTMLElement {
    type Used = Pick<AnswerEntry, 'usage' | 'usd'>;
    const older = forgotten.map(({ tokens: usage, usd }): Used => ({ usage, usd }));
    const sum = (of: (used: Used) => number) =>
      [...older, ...answers].reduce((total, used) => total + of(used), 0);
    const prompt = sum(({ usage }) => promptOf(usage));
    const read = sum(({ usage }) => usage.cacheRead);
    const hit = prompt > 0 ? `${Math.round((100 * read) / prompt)} %` : '–';
    const tile = (value: string, name: string) =>
      el('div.tile', el('span.tile-value', value), el('span.dim', name));
    return el(
      'div.tiles',
      tile(usd(sum((answer) => answer.usd ?? 0)), 'cost'),
      tile(short(prompt), 'tokens in'),
      tile(short(sum(({ usage }) => usage.output)), 'tokens out'),
      tile(hit, 'from cache'),
    );
  }

  private cardOf(request: RequestEntry, largest: number): HTMLElement {
    const answer = this.answerOf(request.id);
    const known = this.cards.get(request.id);
    if (known && known.answer === answer) return known.card;
    const card = this.makeCard(request, answer, largest);
    this.cards.set(request.id, { answer, card });
    return card;
  }

  private makeCard(
    request: RequestEntry,
    answer: AnswerEntry | undefined,
    largest: number,
  ): HTMLElement {
    const isErrand = request.iteration === undefined;
    const name = isErrand ? request.querySource : `iteration ${request.iteration}`;
    const attempt = (request.attempt ?? 1) > 1 && el('span.attempt', `try ${request.attempt}`);
    const state = answer?.failure
      ? el('span.tag.error', answer.failure.class)
      : answer?.isAborted
        ? el('span.tag.error', 'stopped')
        : el('span.dim', answer ? (answer.stopReason ?? 'done') : 'running');
    const summary = el(
      'div.request-head',
      el('b', name),
      attempt,
      state,
      el('span.grow'),
      el('span.mono', answer ? usd(answer.usd) : ''),
      el('span.dim.mono', answer ? duration(answer.ms) : ''),
    );
    const body = lazyDetails(summary, (host) => this.fill(host, request, answer));
    body.className = 'request';
    const bar = answer && usageBar(answer.usage, largest);
    if (bar) summary.append(bar);
    return body;
  }

  private fill(host: HTMLElement, request: RequestEntry, answer: AnswerEntry | undefined): void {
    const rows: [string, string][] = [
      ['model', request.model],
      ['for', `${request.querySource}, request ${count(request.number)}`],
      ['asks with', `${count(request.messages)} messages, ${count(request.tools)} tools`],
      ['answer at most', `${count(request.maxTokens)} tokens`],
    ];
    if (answer) {
      const { usage } = answer;
      rows.push(
        ['read from the cache', `${count(usage.cacheRead)} tokens`],
        ['written to it', `${count(usage.cacheWrite)} tokens`],
        ['new', `${count(usage.input)} tokens`],
        ['answered', `${count(usage.output)} tokens`],
      );
      if (answer.openedMs !== undefined) rows.push(['first sign after', duration(answer.openedMs)]);
      if (answer.failure) rows.push(['failed', failureText(answer.failure)]);
    }
    host.append(
      facts(rows),
      lazyDetails(
        'Compared with the request before',
        (inner) => this.fillDiff(inner, request),
        true,
      ),
      lazyDetails('The request as it was sent', (inner) =>
        inner.append(treeOf((path) => this.source().request(request.id, path))),
      ),
    );
  }

  private fillDiff(host: HTMLElement, request: RequestEntry): void {
    host.append(el('span.dim', 'loading…'));
    void this.source()
      .requestDiff(request.id)
      .then((diff) => {
        if (diff.missing !== undefined) {
          host.replaceChildren(el('p.missing', diff.missing));
          return;
        }
        const same =
          diff.previous === null
            ? 'The first of its kind.'
            : `${count(diff.sameMessages)} messages at the begin are the same.`;
        host.replaceChildren(el('p.dim', same), diffOf(diff.ops, diff.moreOps));
      });
  }
}

const promptOf = ({ input, cacheRead, cacheWrite }: Tokens) => input + cacheRead + cacheWrite;
const failureText = ({ class: name, detail, status }: NonNullable<AnswerEntry['failure']>) =>
  [status, name, detail].filter((part) => part !== undefined && part !== '').join(' · ');

/** The prompt, as long as it was large: from the cache, written to it, new. And the answer. */
function usageBar(usage: Tokens, largest: number): HTMLElement {
  const part = (name: string, tokens: number) => {
    const span = el(`span.usage-part.is-${name}`);
    span.style.width = `${(100 * tokens) / largest}%`;
    return span;
  };
  const bar = el(
    'span.usage',
    part('read', usage.cacheRead),
    part('write', usage.cacheWrite),
    part('new', usage.input),
  );
  const label = `${short(promptOf(usage))} in, ${short(usage.cacheRead)} of it from the cache, ${short(usage.output)} out`;
  set(bar, { role: 'img', 'aria-label': label });
  return el('span.usage-row', bar, el('span.dim.usage-text', label));
}
