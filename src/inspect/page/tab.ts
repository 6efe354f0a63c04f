/** What a tab is to the page around it. */
import { el } from './dom.ts';

export interface Tab {
  readonly element: HTMLElement;
  /** Called when it is in view and something has changed. */
  paint(): void;
  /** A number behind its name. */
  badge?(): string;
}

export const heading = (text: string, ...more: (Node | string)[]): HTMLElement =>
  el('h3', text, ...more);
export const nothing = (text: string): HTMLElement => el('p.nothing', text);
/** A name and what it says, in two columns. */
export function facts(rows: readonly (readonly [string, Node | string])[]): HTMLElement {
  return el('dl.facts', ...rows.flatMap(([name, value]) => [el('dt', name), el('dd', value)]));
}
