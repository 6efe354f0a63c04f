/** A list of any length of which only what can be seen exists: rows of one height. */
import { el, set } from './dom.ts';

const SPARE = 8;

export class VirtualList {
  readonly element: HTMLElement;
  private readonly pad = el('div.list-pad');
  private readonly rowHeight: number;
  private readonly rowOf: (place: number) => HTMLElement;
  private length = 0;

  constructor(label: string, rowHeight: number, rowOf: (place: number) => HTMLElement) {
    this.rowHeight = rowHeight;
    this.rowOf = rowOf;
    this.element = set(el('div.list', this.pad), {
      role: 'listbox',
      tabindex: 0,
      'aria-label': label,
    });
    this.element.addEventListener('scroll', () => this.paint());
  }

  /** @param selected is brought into view when it is given. */
  show(length: number, selected?: number): void {
    this.length = length;
    this.pad.style.height = `${length * this.rowHeight}px`;
    if (selected !== undefined && selected >= 0) this.bringIntoView(selected);
    this.paint();
  }

  private bringIntoView(place: number): void {
    const { element, rowHeight } = this;
    const top = place * rowHeight;
    const isIn =
      top >= element.scrollTop && top + rowHeight <= element.scrollTop + element.clientHeight;
    if (!isIn) element.scrollTop = top - element.clientHeight / 2;
  }

  private paint(): void {
    const { element, rowHeight, length } = this;
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - SPARE);
    const visible = Math.ceil(element.clientHeight / rowHeight) + SPARE * 2;
    const last = Math.min(length, first + visible);
    const rows: HTMLElement[] = [];
    for (let place = first; place < last; place += 1) {
      const row = set(this.rowOf(place), {
        role: 'option',
        'aria-posinset': place + 1,
        'aria-setsize': length,
      });
      row.style.top = `${place * rowHeight}px`;
      rows.push(row);
    }
    this.pad.replaceChildren(...rows);
  }
}
