/** Looking at something larger than the window: wheel and pinch zoom, drag, fit, keep in view. */

/** Below this a chart can be seen, but not read. */
const READABLE = 0.52;
const NEAREST = 4;
const FURTHEST = 0.12;

type Box = Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>;
const around = (one: Box, other: Box): Box => ({
  left: Math.min(one.left, other.left),
  right: Math.max(one.right, other.right),
  top: Math.min(one.top, other.top),
  bottom: Math.max(one.bottom, other.bottom),
});

export class Camera {
  private x = 0;
  private y = 0;
  private scale = 1;
  private readonly stage: HTMLElement;
  private readonly canvas: HTMLElement;
  /** True while a drag goes on and right after it: its click is no click. */
  hasDragged = false;
  private isFitted = true;

  constructor(stage: HTMLElement, canvas: HTMLElement) {
    this.stage = stage;
    this.canvas = canvas;
    stage.addEventListener('wheel', (event) => this.onWheel(event), { passive: false });
    stage.addEventListener('pointerdown', (event) => this.onDown(event));
    new ResizeObserver(() => {
      if (this.isFitted) this.fit();
    }).observe(stage);
  }

  /** As much as can be read: the whole drawing, or its upper left part in a small window. */
  begin(): void {
    this.fit();
    if (this.scale >= READABLE) return;
    this.scale = READABLE + 0.1;
    [this.x, this.y] = [8, 8];
    this.isFitted = false;
    this.apply();
  }

  /** The whole drawing, not larger than it was meant. */
  fit(): void {
    const size = this.size();
    if (size === undefined) return;
    const { width, height } = this.stage.getBoundingClientRect();
    const room = { width: width - 16, height: height - 52 };
    this.scale = Math.min(room.width / size.width, room.height / size.height, 1.6);
    this.x = 8 + (room.width - size.width * this.scale) / 2;
    this.y = 8 + (room.height - size.height * this.scale) / 2;
    this.isFitted = true;
    this.apply();
  }

  zoom(factor: number): void {
    const { width, height } = this.stage.getBoundingClientRect();
    this.zoomAt(factor, width / 2, height / 2);
  }

  /** @param targets the most important first: of those that do not fit together the last ones give way. */
  keepInView(targets: readonly Element[]): void {
    const outer = this.stage.getBoundingClientRect();
    const margin = 44;
    const below = 72; // the legend and the buttons stand there
    const boxes = targets.map((target) => target.getBoundingClientRect());
    const inner = boxes.reduce<Box | undefined>((all, box) => {
      const both = all === undefined ? box : around(all, box);
      const fits =
        both.right - both.left <= outer.width - margin * 2 &&
        both.bottom - both.top <= outer.height - margin - below;
      return fits || all === undefined ? both : all;
    }, undefined);
    if (inner === undefined) return;
    let [dx, dy] = [0, 0];
    if (inner.left < outer.left + margin) dx = outer.left + margin - inner.left;
    else if (inner.right > outer.right - margin) dx = outer.right - margin - inner.right;
    if (inner.top < outer.top + margin) dy = outer.top + margin - inner.top;
    else if (inner.bottom > outer.bottom - below) dy = outer.bottom - below - inner.bottom;
    if (dx === 0 && dy === 0) return;
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  private size(): { width: number; height: number } | undefined {
    const svg = this.canvas.querySelector('svg');
    if (svg === null) return undefined;
    return { width: svg.width.baseVal.value, height: svg.height.baseVal.value };
  }
  private apply(): void {
    this.canvas.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.stage.dataset.zoom = this.scale < 0.5 ? 'far' : 'near';
  }

  private onWheel(event: WheelEvent): void {
    if (this.size() === undefined) return;
    event.preventDefault();
    const box = this.stage.getBoundingClientRect();
    const speed = event.ctrlKey ? 0.01 : 0.0015;
    this.zoomAt(Math.exp(-event.deltaY * speed), event.clientX - box.left, event.clientY - box.top);
  }
  private zoomAt(factor: number, x: number, y: number): void {
    const scale = Math.min(NEAREST, Math.max(FURTHEST, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.isFitted = false;
    this.apply();
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0 || this.size() === undefined) return;
    this.hasDragged = false;
    const from = { x: event.clientX - this.x, y: event.clientY - this.y };
    const start = { x: event.clientX, y: event.clientY };
    const move = (to: PointerEvent) => {
      if (Math.hypot(to.clientX - start.x, to.clientY - start.y) > 4) this.hasDragged = true;
      if (!this.hasDragged) return;
      this.x = to.clientX - from.x;
      this.y = to.clientY - from.y;
      this.isFitted = false;
      this.stage.classList.add('is-dragged');
      this.apply();
    };
    const end = () => {
      window.removeEventListener('pointermove', move);
      this.stage.classList.remove('is-dragged');
    };
    window.addEventListener('pointermove', move);
    window.addEventListener('pointerup', end, { once: true });
    window.addEventListener('pointercancel', end, { once: true });
  }
}
