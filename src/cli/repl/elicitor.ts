/** Questions of servers of tools to the person at the terminal. */
import type { ElicitationAnswer, ElicitationQuestion } from '../../../services/mcp/elicitation.ts';
import { formOf } from '../../../services/mcp/form/read-form.ts';
import type { Options } from '../../options.ts';
import { printable, visible } from '../printable.ts';
import { type Asked, beginning, replyTo, stepHints, stepLines } from './form-dialogue.ts';
import type { Look } from './question.ts';
import type { OpenQuestion, QuestionLine } from './question-line.ts';

export interface ElicitorParts {
  readonly questions: QuestionLine;
  readonly look: () => Look;
  readonly print: (line: string) => void;
  /** Shows a page in the person's browser. Absent: there is no way to. */
  readonly openPage?: (url: URL, onFailure: (why: string) => void) => void;
}

const cancelled: ElicitationAnswer = { action: 'cancel' };

export class Elicitor {
  readonly #parts: ElicitorParts;

  constructor(parts: ElicitorParts) {
    this.#parts = parts;
  }

  /** Waits as long as the person thinks: the clocks of the calls stand still meanwhile. */
  readonly onElicitation: NonNullable<Options['onElicitation']> = (question, { signal }) =>
    this.#parts.questions.inTurn(async () => {
      if (signal.aborted) return cancelled;
      const asked = this.#asked(question);
      if (typeof asked === 'string') return this.#refuse(question, asked);
      return this.#parts.questions.open(signal, cancelled, (settle) => this.#open(asked, settle));
    });

  /** @returns why nobody can be asked. */
  #asked({ serverName, message, mode, url, requestedSchema }: ElicitationQuestion): Asked | string {
    const said = { serverName, message: String(message) };
    if (mode === 'url') {
      const page = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
      const isWeb = page?.protocol === 'https:' || page?.protocol === 'http:';
      if (!page || !isWeb) return `it wants a visit to ${String(url)}, which is no page of the web`;
      const canOpen = this.#parts.openPage !== undefined;
      return { ...said, subject: { kind: 'page', url: page, canOpen } };
    }
    const form = formOf(requestedSchema);
    return form.ok ? { ...said, subject: { kind: 'form', fields: form.fields } } : form.why;
  }

  #refuse({ serverName }: ElicitationQuestion, why: string): ElicitationAnswer {
    const { look, print } = this.#parts;
    const text = `⚠ A question of ${serverName} was declined: ${why}`;
    print(look().colors.yellow(printable(text).replaceAll('\n', ' ')));
    return { action: 'decline' };
  }

  #open(asked: Asked, settle: (answer: ElicitationAnswer) => void): OpenQuestion {
    const { print, look } = this.#parts;
    let progress = beginning;
    const printStep = () => {
      for (const line of stepLines(asked, progress, look())) print(line);
    };
    const end = (answer: ElicitationAnswer) => {
      const { colors } = look();
      const isAccepted = answer.action === 'accept';
      const word = isAccepted ? 'answered' : answer.action === 'cancel' ? 'cancelled' : 'declined';
      print(isAccepted ? colors.dim(`  ✓ ${word}`) : colors.red(`  ✗ ${word}`));
      settle(answer);
    };
    printStep();
    return {
      get hints() {
        return stepHints(asked, progress);
      },
      stopsTurn: false,
      stop: () => end(cancelled),
      answer: (text) => {
        const reply = replyTo(asked, progress, text);
        switch (reply.kind) {
          case 'unclear':
            return reply.hint;
          case 'next':
            if (progress.step.at === 'field') print(look().colors.dim(`    ${echoOf(text)}`));
            progress = reply.progress;
            printStep();
            return undefined;
          case 'ended':
            if (reply.opens) this.#openPage(asked);
            end(reply.answer);
            return undefined;
        }
      },
    };
  }

  #openPage({ subject }: Asked): void {
    const { openPage, print, look } = this.#parts;
    if (subject.kind !== 'page') return;
    openPage?.(subject.url, (why) =>
      print(look().colors.yellow(`  ⚠ not opened (${printable(why)}): open it yourself`)),
    );
  }
}

const echoOf = (text: string): string => visible(text).replace(/\s+/g, ' ').trim() || '(Enter)';
