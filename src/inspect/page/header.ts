/** The line on top: which run, is it alive, where are we, and what can be done with the page. */
import { el, need, set } from './dom.ts';
import type { View } from './view.ts';
import { count } from './words.ts';

export class Header {
  private readonly view: View;
  private readonly select = need<HTMLSelectElement>('instance');
  private readonly status = need('status');
  private options = '';

  constructor(view: View) {
    this.view = view;
    this.select.addEventListener('change', () => view.pick(this.select.value));
    const on = (id: string, act: () => void) => need(id).addEventListener('click', act);
    on('first', () => view.go(0));
    on('previous', () => view.go(view.cursor - 1));
    on('next', () => view.go(view.cursor + 1));
    on('last', () => view.go(view.steps.length - 1));
    on('live', () => view.live());
    on('follow', () => {
      view.isFollowing = !view.isFollowing;
      view.touch('header', 'chart');
    });
    view.onPaint((parts) => {
      if (parts.has('header')) this.paint();
      if (parts.has('header') || parts.has('control')) this.paintStatus();
    });
  }

  private paintStatus(): void {
    const [text, kind, title] = statusOf(this.view);
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.className = `status is-${kind}`;
    this.status.title = title;
  }

  private paint(): void {
    const { view } = this;
    const { steps, cursor, run } = view;
    need('position').textContent =
      steps.length > 0
        ? `${count((steps[cursor]?.n ?? -1) + 1)} / ${count((steps.at(-1)?.n ?? 0) + 1)}`
        : '– / –';
    const isRecording = run.hello !== undefined && run.hello.source !== 'live';
    const live = need<HTMLButtonElement>('live');
    live.hidden = isRecording || run.ended !== undefined;
    set(live, { 'aria-pressed': String(view.isLive) });
    set(need('follow'), { 'aria-pressed': String(view.isFollowing) });
    for (const id of ['first', 'previous']) need<HTMLButtonElement>(id).disabled = cursor <= 0;
    for (const id of ['next', 'last'])
      need<HTMLButtonElement>(id).disabled = cursor >= steps.length - 1;
    need('title').textContent = run.hello?.title ?? '';
    if (run.hello) document.title = `${run.hello.title} · inspector`;
    this.paintOptions();
  }

  private paintOptions(): void {
    const openMark = this.view.run.ended === undefined ? '●' : 'not ended';
    const rows = this.view.run.instanceTree().map(({ run: { id, entry }, depth }, place) => {
      const isOpen = entry.status === 'active';
      const state = isOpen ? openMark : (entry.reason ?? entry.status);
      const mark = entry.role === 'agent' ? '↳ ' : '';
      // how it ended must not be what is cut off
      const title = cut(entry.title || `run ${place + 1}`, TITLE_LETTERS);
      return [id, `${'\u2003'.repeat(depth)}${mark}${title} · ${state}`] as const;
    });
    const key = JSON.stringify([rows, this.view.instance]);
    if (key === this.options) return;
    this.options = key;
    this.select.replaceChildren(
      ...rows.map(([id, text]) => {
        const option = el('option', text);
        option.value = id;
        option.selected = id === this.view.instance;
        return option;
      }),
    );
    this.select.hidden = rows.length === 0;
  }
}

const TITLE_LETTERS = 40;
const cut = (text: string, letters: number) =>
  text.length > letters ? `${text.slice(0, letters - 1).trimEnd()}…` : text;

type Status = readonly [text: string, kind: 'good' | 'bad' | 'calm' | 'held', title: string];
/** Whether there is somebody who runs, and does he. */
function statusOf({ connection, run }: View): Status {
  switch (connection) {
    case 'connecting':
      return ['connecting…', 'calm', 'The page asks the process that is looked at.'];
    case 'lost':
      return ['reconnecting…', 'bad', 'The process does not answer: it may have ended.'];
    case 'ended':
      return [run.ended ?? 'ended', 'calm', 'Nothing more will come. All of it can be looked at.'];
    case 'connected':
      break;
  }
  if (run.control.held) return ['held', 'held', 'It waits for Step or Go on.'];
  const isRunning = [...run.instances.values()].some(({ entry }) => entry.status === 'active');
  if (isRunning) return ['running', 'good', 'It runs.'];
  return ['idle', 'good', 'Nothing runs now. What comes next appears here.'];
}

/** `light`, `dark`, or what the system says. Kept where the browser allows it. */
export function startTheme(onChange: () => void): void {
  const root = document.documentElement;
  const isLight = () =>
    (root.dataset.theme ??
      (matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark')) === 'light';
  const show = () => {
    const theme = need('theme');
    theme.setAttribute('aria-label', isLight() ? 'Dark colours' : 'Light colours');
    theme.title = isLight() ? 'Dark colours' : 'Light colours';
  };
  const kept = keep('theme');
  if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  need('theme').addEventListener('click', () => {
    root.dataset.theme = isLight() ? 'dark' : 'light';
    keep('theme', root.dataset.theme);
    show();
    onChange();
  });
  matchMedia('(prefers-color-scheme: light)').addEventListener('change', onChange);
  show();
}

/** A page from a file, or with a token in its address, may have no storage: then nothing is kept. */
export function keep(name: string, value?: string): string | null {
  try {
    if (value !== undefined) localStorage.setItem(`inspector.${name}`, value);
    return localStorage.getItem(`inspector.${name}`);
  } catch {
    return value ?? null;
  }
}

/** The line between chart and tabs can be moved, with the pointer and with the arrow keys. */
export function startSplitter(): void {
  const line = need('splitter');
  const main = need('main');
  const apply = (width: number) => {
    const most = Math.max(320, window.innerWidth - 480);
    const fitting = Math.round(Math.min(most, Math.max(320, width)));
    main.style.setProperty('--side', `${fitting}px`);
    set(line, { 'aria-valuenow': fitting, 'aria-valuemin': 320, 'aria-valuemax': most });
    keep('side', String(fitting));
  };
  const now = () => need('side').getBoundingClientRect().width;
  line.addEventListener('pointerdown', (event) => {
    line.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  line.addEventListener('pointermove', (event) => {
    if (line.hasPointerCapture(event.pointerId)) apply(window.innerWidth - event.clientX);
  });
  line.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    event.stopPropagation();
    apply(now() + (event.key === 'ArrowLeft' ? 24 : -24));
  });
  const kept = Number(keep('side'));
  if (kept > 0) apply(kept);
  else set(line, { 'aria-valuenow': Math.round(now()), 'aria-valuemin': 320 });
}
