/** What the keyboard does, and the page that says so. */
import { el, need } from './dom.ts';
import type { View } from './view.ts';

export interface Deeds {
  readonly fit: () => void;
  readonly search: () => void;
  readonly tab: (place: number) => void;
}

const rows: readonly (readonly [string, string])[] = [
  ['← →', 'one step back, one on'],
  ['Shift ← →', 'ten steps'],
  ['Home, End', 'first and last step'],
  ['l', 'follow the live run'],
  ['f', 'fit the chart into the window'],
  ['/', 'search the events'],
  ['1 … 7', 'the tabs'],
  ['?', 'this page'],
  ['Esc', 'close it, leave the search'],
];

export function startKeys(view: View, deeds: Deeds): void {
  const help = need<HTMLDialogElement>('help');
  need('help-keys').replaceChildren(
    ...rows.flatMap(([key, does]) => [el('dt', el('kbd', key)), el('dd', does)]),
  );
  need('help-close').addEventListener('click', () => help.close());
  need('help-open').addEventListener('click', () => help.showModal());
  addEventListener('keydown', (event) => {
    const target = event.target as Element;
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (target.closest('input, textarea, select, dialog')) {
      if (event.key === 'Escape') (target as HTMLElement).blur();
      return;
    }
    // arrows in a list of tabs belong to the list
    if (target.closest('[role=tablist]') && event.key.startsWith('Arrow')) return;
    if (act(event, view, deeds, help)) event.preventDefault();
  });
}

function act(event: KeyboardEvent, view: View, deeds: Deeds, help: HTMLDialogElement): boolean {
  const far = event.shiftKey ? 10 : 1;
  switch (event.key) {
    case 'ArrowLeft':
      view.go(view.cursor - far);
      return true;
    case 'ArrowRight':
      view.go(view.cursor + far);
      return true;
    case 'Home':
      view.go(0);
      return true;
    case 'End':
      view.go(view.steps.length - 1);
      return true;
    case 'l':
      view.live();
      return true;
    case 'f':
      deeds.fit();
      return true;
    case '/':
      deeds.search();
      return true;
    case '?':
      help.showModal();
      return true;
  }
  if (!/^[1-7]$/.test(event.key)) return false;
  deeds.tab(Number(event.key) - 1);
  return true;
}
