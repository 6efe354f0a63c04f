/** A line above the chart that stays until it is dismissed: what a reader must know of what he sees. */
import { need } from './dom.ts';

const LOST =
  'The process that is looked at does not answer: it may have ended. What it has told so far stays here, and this page asks again by itself.';

export class Notice {
  private readonly line = need('notice');

  constructor() {
    need('notice-close').addEventListener('click', () => this.close());
  }

  say(text: string): void {
    this.show(text, false);
  }
  lost(): void {
    this.show(LOST, true);
  }
  close(): void {
    this.line.hidden = true;
  }

  private show(text: string, isBad: boolean): void {
    need('notice-text').textContent = text;
    this.line.classList.toggle('is-bad', isBad);
    this.line.hidden = false;
  }
}
