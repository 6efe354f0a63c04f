/** The whole run as a band: colours are the states of the root, ticks are reasons. Drag to scrub. */

import { el, need, set } from './dom.ts';
import { reasonsOf } from './reason-tag.ts';
import type { View } from './view.ts';
import { clock, count, eventName, shortState } from './words.ts';

const SIDE = 14;
const BAND = { top: 18, height: 18 };

const phaseNames = Array.from({ length: 8 }, (_, i) => `--phase-${i}`);
const colourNames = ['--line', '--continue', '--terminal', '--hot-line', ...phaseNames];

/** A canvas knows no variables of the style sheet: elements that nobody sees say what they are now. */
const samplesOf = (canvas: HTMLCanvasElement): ReadonlyMap<string, HTMLElement> =>
  new Map(
    colourNames.map((name) => {
      const sample = el('span');
      sample.style.color = `var(${name})`;
      canvas.append(sample);
      return [name, sample];
    }),
  );
const readColours = (samples: ReadonlyMap<string, HTMLElement>): ReadonlyMap<string, string> =>
  new Map([...samples].map(([name, sample]) => [name, getComputedStyle(sample).color]));

export class Timeline {
  private readonly view: View;
  private readonly canvas = need<HTMLCanvasElement>('timeline');
  private readonly legend = need('phases');
  private readonly samples = samplesOf(this.canvas);
  private palette: ReadonlyMap<string, string> = new Map();

  constructor(view: View) {
    this.view = view;
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.goTo(event);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.goTo(event);
      else this.tell(event);
    });
    new ResizeObserver(() => view.touch('timeline')).observe(canvas);
    view.onPaint((parts) => {
      if (parts.has('timeline')) this.paint();
    });
  }

  private placeAt(event: PointerEvent): number {
    const { left, width } = this.canvas.getBoundingClientRect();
    const part = (event.clientX - left - SIDE) / Math.max(1, width - SIDE * 2);
    return Math.floor(part * this.view.steps.length);
  }
  private goTo(event: PointerEvent): void {
    this.view.go(this.placeAt(event));
  }
  private tell(event: PointerEvent): void {
    const step = this.view.steps[this.placeAt(event)];
    const words = step && [
      `#${step.n + 1}`,
      eventName(step.event),
      step.to.map(shortState).join(', '),
    ];
    this.canvas.title =
      words && step ? [...words, step.reason, clock(step.at)].filter(Boolean).join(' · ') : '';
  }

  /** Top states in the order of the chart, each with the number of its colour. */
  private phases(): ReadonlyMap<string, number> {
    const nodes = this.view.chart?.chart.nodes ?? [];
    const root = nodes.find(({ parent }) => parent === null)?.id;
    const tops = nodes.filter(({ parent }) => parent === root);
    return new Map(tops.map(({ id }, i) => [id, i % 8]));
  }

  private paint(): void {
    const { canvas, view } = this;
    const { steps, cursor } = view;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext('2d');
    if (pen === null) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const colour = (name: string) => this.palette.get(name) ?? '';
    this.palette = readColours(this.samples);
    const phases = this.phases();
    this.paintLegend(phases);
    const room = width - SIDE * 2;
    const at = (place: number) => SIDE + (room * place) / Math.max(1, steps.length);
    set(canvas, {
      'aria-valuemin': 1,
      'aria-valuemax': Math.max(1, steps.length),
      'aria-valuenow': Math.max(1, cursor + 1),
      'aria-valuetext': `step ${cursor + 1} of ${steps.length}`,
    });
    if (steps.length === 0) {
      pen.fillStyle = colour('--line');
      pen.fillRect(SIDE, BAND.top, room, BAND.height);
      return;
    }
    const isWide = room / steps.length > 5;
    const stride = Math.max(1, Math.floor(steps.length / room));
    const colours = phaseNames.map(colour);
    for (let place = 0; place < steps.length; place += stride) {
      const phase = phases.get(steps[place]?.on.find((id) => phases.has(id)) ?? '') ?? 0;
      pen.fillStyle = colours[phase] ?? '';
      pen.globalAlpha = place <= cursor ? 1 : 0.28;
      const end = at(Math.min(steps.length, place + stride));
      pen.fillRect(
        at(place),
        BAND.top,
        Math.max(1, end - at(place) - (isWide ? 1 : 0)),
        BAND.height,
      );
    }
    pen.globalAlpha = 1;
    const tick = Math.min(4, Math.max(1.5, room / steps.length));
    const [goesOn, ends] = [colour('--continue'), colour('--terminal')];
    for (const [place, step] of steps.entries()) {
      if (step.reason === undefined) continue;
      const kind = reasonsOf(step, view.chart?.chart).at(-1)?.kind;
      pen.fillStyle = kind === 'terminal' ? ends : goesOn;
      pen.fillRect(at(place + 0.5) - tick / 2, 7, tick, 8);
    }
    const x = at(cursor + 0.5);
    pen.fillStyle = colour('--hot-line');
    pen.fillRect(x - 1, 4, 2, BAND.top + BAND.height);
    pen.beginPath();
    pen.moveTo(x - 5, 2);
    pen.lineTo(x + 5, 2);
    pen.lineTo(x, 9);
    pen.fill();
  }

  private shown = '';
  private paintLegend(phases: ReadonlyMap<string, number>): void {
    const { view } = this;
    const dropped = view.current?.base?.steps ?? 0;
    const key = JSON.stringify([[...phases.keys()], dropped]);
    if (key === this.shown) return;
    this.shown = key;
    const items = [...phases].map(([id, phase]) => {
      const item = document.createElement('span');
      item.className = `phase is-phase-${phase}`;
      item.textContent = shortState(id);
      return item;
    });
    this.legend.replaceChildren(...items);
    if (dropped > 0) this.legend.append(`the first ${count(dropped)} steps are no longer kept`);
  }
}
