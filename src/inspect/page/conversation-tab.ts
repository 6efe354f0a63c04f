/**
 * What was said, as the host heard it: what was taken back is struck through, and where the history
 * was made shorter stands a mark.
 */
import type { MessageBlock, MessageEntry } from '../protocol.ts';
import { button, el, lazyDetails, set } from './dom.ts';
import type { Source } from './source.ts';
import { nothing, type Tab } from './tab.ts';
import { lineOf, treeOf } from './values.ts';
import type { View } from './view.ts';
import { clock, count } from './words.ts';

/** So many are in the page at once; the others are a button away. */
const PAGE = 300;
/** Longer texts are folded. */
const FOLD_LETTERS = 700;

export class ConversationTab implements Tab {
  readonly element = el('div.panel-body.talk');
  private readonly view: View;
  private readonly source: () => Source;
  private readonly made = new Map<number, HTMLElement>();
  private readonly tools = new Map<string, string>();
  private shownMax = PAGE;
  private key = '';
  private whose = '';

  constructor(view: View, source: () => Source) {
    this.view = view;
    this.source = source;
  }

  badge(): string {
    const said = this.messages().filter(({ effect }) => effect === 'says').length;
    return said > 0 ? count(said) : '';
  }

  private messages(): readonly MessageEntry[] {
    const { instance, run } = this.view;
    return instance === undefined ? [] : run.messagesOf(instance);
  }

  paint(): void {
    const { view } = this;
    const all = this.messages().filter(({ seq }) => seq <= view.seq);
    const key = JSON.stringify([view.instance, all.at(-1)?.seq, all.length, this.shownMax]);
    if (key === this.key) return;
    const whose = JSON.stringify([view.instance, view.run.trims]);
    if (whose !== this.whose) this.made.clear();
    this.whose = whose;
    this.key = key;
    const wasAtEnd = isAtEnd(this.element);
    if (all.length === 0) {
      this.element.replaceChildren(nothing('Nothing has been said yet.'));
      return;
    }
    this.noteTools(all);
    const shown = all.filter(isWorthALine).slice(-this.shownMax);
    const retracted = new Set(
      all.flatMap(({ effect, affects }) => (effect === 'retracts' ? affects : [])),
    );
    const rows = shown.map((message) => {
      const row = this.made.get(message.seq) ?? this.rowOf(message);
      this.made.set(message.seq, row);
      const isGone = retracted.has(message.uuid) && message.effect === 'says';
      if (isGone && !row.classList.contains('is-retracted')) {
        row.classList.add('is-retracted');
        row.querySelector('.who')?.append(el('span.tag.error', 'taken back'));
      } else if (!isGone && row.classList.contains('is-retracted')) {
        row.classList.remove('is-retracted');
        row.querySelector('.who .tag.error')?.remove();
      }
      return row;
    });
    this.element.replaceChildren(this.earlier(Math.max(0, all.length - this.shownMax)), ...rows);
    if (wasAtEnd || !view.isLive) this.element.scrollTop = this.element.scrollHeight;
  }

  /** A result does not say which tool it is of: its call does. */
  private noteTools(messages: readonly MessageEntry[]): void {
    for (const { blocks } of messages)
      for (const block of blocks)
        if (block.type === 'tool_use') this.tools.set(block.id, block.name);
  }

  private earlier(left: number): HTMLElement {
    if (left === 0) return el('div');
    return button('button.earlier', `${count(left)} earlier messages`, () => {
      this.shownMax += PAGE;
      this.view.touch('tab');
    });
  }

  private rowOf(message: MessageEntry): HTMLElement {
    if (message.effect !== 'says') return this.mark(message);
    const tools = message.blocks.flatMap((block) =>
      block.type === 'tool_result' ? (this.tools.get(block.toolUseId) ?? []) : [],
    );
    const who = el(
      'div.who',
      el('span.speaker', [speakerNames[message.speaker], ...tools].join(' · ')),
      el('span.dim', clock(message.at)),
      this.linkTo(message),
    );
    return el(`article.message.from-${message.speaker}`, who, ...this.bodyOf(message));
  }

  /** A line across: something happened to the conversation. */
  private mark(message: MessageEntry): HTMLElement {
    const gist = message.gist.replace(/^(?:transition|compact_boundary): /, '');
    return el(
      `div.mark.is-${message.effect}`,
      el('span.mark-name', effectNames[message.effect]),
      gist !== effectNames[message.effect] && el('span.mark-text', gist),
      this.linkTo(message),
    );
  }

  /** A click leads to the step that said it. */
  private linkTo(message: MessageEntry): HTMLElement {
    const go = button('button.to-step', 'step', () => this.goTo(message));
    return set(go, {
      title: 'Show the step that said it',
      'aria-label': 'Show the step that said it',
    });
  }

  /** The agent that works, or has worked, for a call. */
  private agentLink(toolUseId: string): HTMLElement | undefined {
    const { run } = this.view;
    const agent = [...run.instances.values()].find(({ entry }) => entry.toolUseId === toolUseId);
    return agent && button('button.link', 'open the agent', () => this.view.pick(agent.id));
  }

  private goTo(message: MessageEntry): void {
    const isKnown = this.view.run.instances.has(message.instance);
    if (isKnown && message.instance !== this.view.instance) this.view.pick(message.instance);
    const at = this.view.steps.findLastIndex(({ seq }) => seq <= message.seq);
    if (at >= 0) this.view.go(at);
  }

  private bodyOf(message: MessageEntry): readonly Node[] {
    const blocks =
      message.blocks.length > 0
        ? message.blocks.map((block) => blockOf(block, (id) => this.agentLink(id)))
        : [el('div.text', message.gist)];
    if (!message.isCut) return blocks;
    const whole = lazyDetails('the whole message', (host) =>
      host.append(treeOf((path) => this.source().message(message.seq, path))),
    );
    return [...blocks, whole];
  }
}

const speakerNames = { user: 'Prompt', model: 'Model', tool: 'Tool', engine: 'Engine' } as const;
const effectNames = {
  says: '',
  retracts: 'taken back',
  compacts: 'history summarised',
  edits: 'view edited',
  retries: 'tried again',
  continues: 'goes on',
  ends: 'end',
  tells: 'note',
} as const satisfies Record<MessageEntry['effect'], string>;

/** Deltas and states of a connection are no part of a conversation. */
const isWorthALine = ({ effect, gist, subtype }: MessageEntry) =>
  effect !== 'tells' || (gist !== '' && subtype !== 'status');
const isAtEnd = ({ scrollTop, clientHeight, scrollHeight }: HTMLElement) =>
  scrollTop + clientHeight >= scrollHeight - 40;

function blockOf(
  block: MessageBlock,
  agentLink: (toolUseId: string) => HTMLElement | undefined,
): HTMLElement {
  switch (block.type) {
    case 'text':
      return textOf(block.text, block.length, 'div.text');
    case 'thinking':
      return el(
        'div.thinking',
        el('span.block-name', 'thinking'),
        textOf(block.text, block.length),
      );
    case 'tool_use':
      return el(
        'div.call',
        el('span.block-name', 'calls'),
        el('b', block.name),
        agentLink(block.id),
        el('div.mono.call-input', lineOf(block.input)),
      );
    case 'tool_result': {
      const name = el('span.block-name', block.isError ? 'failed' : 'result');
      return el(
        block.isError ? 'div.answer.is-error' : 'div.answer',
        name,
        textOf(block.text, block.length, 'div.mono'),
      );
    }
    case 'other':
      return el(
        'div.other',
        el('span.block-name', block.name),
        el('div.mono', lineOf(block.value)),
      );
  }
}

function textOf(text: string, length: number, name: 'div.text' | 'div.mono' | 'div' = 'div') {
  const cut = length > text.length ? ` … ${count(length - text.length)} more letters` : '';
  if (text.length <= FOLD_LETTERS) return el(name, text, cut);
  const first = text.slice(0, FOLD_LETTERS);
  const rest = lazyDetails(`${count(length - FOLD_LETTERS)} more letters`, (host) =>
    host.append(el(name, text.slice(FOLD_LETTERS), cut)),
  );
  return el('div', el(name, `${first}…`), rest);
}
