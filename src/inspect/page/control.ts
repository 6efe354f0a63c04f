/** Holding the machine and sending it events, where whoever started the inspector has allowed it. */
import type { Command, Held } from '../protocol.ts';
import { el, need, set } from './dom.ts';
import type { Run } from './run.ts';
import type { Source } from './source.ts';
import type { View } from './view.ts';
import { duration, eventName, shortState } from './words.ts';

export class Control {
  private readonly view: View;
  private readonly source: () => Source;
  private readonly bar = need('control');
  private readonly state = need('control-state');
  private readonly select = need<HTMLSelectElement>('break-state');
  private filledFor: string | undefined;

  constructor(view: View, source: () => Source) {
    this.view = view;
    this.source = source;
    const on = (id: string, command: () => Command | undefined) =>
      need(id).addEventListener('click', () => {
        const made = command();
        if (made) void this.do(made);
      });
    on('hold', () => ({ do: 'hold' }));
    on('step-on', () => ({ do: 'step' }));
    on('go-on', () => ({ do: 'go' }));
    on('abort', () =>
      view.instance === undefined ? undefined : { do: 'abort', instance: view.instance },
    );
    this.select.addEventListener('change', () => {
      if (this.select.value) this.toggle(this.select.value);
      this.select.value = '';
    });
    need('send-open').addEventListener('click', () => void this.openSend());
    need('send-form').addEventListener('submit', (event) => void this.send(event));
    need('send-close').addEventListener('click', () => need<HTMLDialogElement>('send').close());
    view.onPaint((parts) => {
      if (parts.has('control') || parts.has('clock') || parts.has('chart')) this.paint();
    });
  }

  toggle(state: string): void {
    const isOn = this.view.run.control.breakpoints.includes(state);
    void this.do({ do: 'break', state, on: !isOn });
  }

  private async do(command: Command): Promise<boolean> {
    const answer = await this.source().command(command);
    if (!answer.ok) say(answer.why);
    return answer.ok;
  }

  private paint(): void {
    const { run } = this.view;
    const may = run.hello?.control;
    const isOn = may !== undefined && run.ended === undefined;
    this.bar.hidden = !isOn;
    if (!isOn) return;
    const { held, breakpoints } = run.control;
    for (const id of ['hold', 'step-on', 'go-on', 'break-state']) need(id).hidden = !may.hold;
    need('send-open').hidden = !may.send;
    need<HTMLButtonElement>('hold').disabled = held !== null;
    need<HTMLButtonElement>('step-on').disabled = held === null;
    need<HTMLButtonElement>('go-on').disabled = held === null;
    this.bar.classList.toggle('is-held', held !== null);
    const since = held && duration(Date.now() - this.view.clockOffset - held.since);
    const [what, more] = held
      ? [`Held ${whereOf(held)}`, ` for ${since}${waitingOf(held)}`]
      : [isBusy(run) ? 'Runs' : 'Nothing runs', `, ${pointsOf(breakpoints)}`];
    if (this.state.textContent !== what + more) this.state.replaceChildren(el('b', what), more);
    need<HTMLButtonElement>('abort').disabled = this.view.current?.entry.status !== 'active';
    this.fillStates();
  }

  /** Breakpoints without a mouse: the states in a list. */
  private fillStates(): void {
    const chart = this.view.chart?.chart;
    const points = this.view.run.control.breakpoints;
    const key = JSON.stringify([chart?.key, points]);
    if (key === this.filledFor) return;
    this.filledFor = key;
    const states = chart?.nodes.filter(({ parent }) => parent !== null) ?? [];
    const option = (id: string, text: string) => {
      const made = el('option', text);
      made.value = id;
      return made;
    };
    this.select.replaceChildren(
      option('', 'breakpoint…'),
      ...states.map(({ id }) => option(id, `${points.includes(id) ? '● ' : ''}${shortState(id)}`)),
    );
  }

  private async openSend(): Promise<void> {
    const { instance } = this.view;
    if (instance === undefined) return;
    const sendable = await this.source().sendable(instance);
    const events = sendable?.events ?? [];
    const options = events.map(({ type, can }) => {
      const option = set(el('option', can ? type : `${type} (not heard now)`), { disabled: !can });
      option.value = type;
      return option;
    });
    need('send-type').replaceChildren(...options);
    need('send-error').textContent =
      events.length > 0 ? '' : 'This instance hears nothing that could be sent.';
    need<HTMLDialogElement>('send').showModal();
  }

  private async send(event: Event): Promise<void> {
    event.preventDefault();
    const { instance } = this.view;
    const type = need<HTMLSelectElement>('send-type').value;
    if (instance === undefined || type === '') return;
    const fields = fieldsOf(need<HTMLTextAreaElement>('send-fields').value);
    if (fields === undefined) {
      need('send-error').textContent = 'The fields must be one JSON object, like {"id": "a"}.';
      return;
    }
    const isDone = await this.do({ do: 'send', instance, event: { ...fields, type } });
    if (isDone) need<HTMLDialogElement>('send').close();
  }
}

const isBusy = (run: Run) =>
  [...run.instances.values()].some(({ entry }) => entry.status === 'active');
const whereOf = ({ before }: Held) =>
  before === null ? 'by hand' : `before ${shortState(before)}`;
/** What is heard next and where it leads; what waits behind it is counted. */
function waitingOf({ waiting: [first, ...others], next }: Held): string {
  if (first === undefined) return ', nothing waits yet';
  const to = next && next.to.length > 0 ? ` → ${next.to.map(shortState).join(', ')}` : '';
  const more = others.length > 0 ? `, and ${others.length} more behind it` : '';
  return `; next: ${eventName(first)}${to}${more}`;
}
function pointsOf({ length }: readonly string[]): string {
  if (length === 0) return 'no breakpoint';
  return length === 1 ? 'one breakpoint' : `${length} breakpoints`;
}

function fieldsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {};
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null && !Array.isArray(read)
      ? (read as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** A line at the lower end of the page, for some seconds. */
export function say(text: string): void {
  const toast = need('toast');
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => {
    toast.hidden = true;
  }, 6_000);
}
