/** Permission questions, and what the answers change. */

import { suggestionsFor } from '../../../services/permissions/suggestions.ts';
import type { CanUseTool } from '../../../services/permissions/types.ts';
import { applyUpdates, type PermissionUpdate } from '../../../services/permissions/updates.ts';
import type { QueryEngineConfig } from '../../config.ts';
import { userHomeOf } from '../../home-folders.ts';
import { clipCells } from '../cells.ts';
import { visible } from '../printable.ts';
import {
  answerOf,
  answersHint,
  type Look,
  type Question,
  questionLines,
  updatesText,
} from './question.ts';
import type { QuestionLine } from './question-line.ts';

type HostAnswer = Awaited<ReturnType<CanUseTool>>;

export interface AskerParts {
  /** Of the session that runs; read at each question. */
  readonly config: () => QueryEngineConfig;
  readonly questions: QuestionLine;
  readonly look: () => Look;
  readonly print: (line: string) => void;
}

/** A call is shown before its question; so long a question waits for that. */
const SHOWN_MS = 250;
/** Ids of shown calls that are remembered: those of one round. */
const SHOWN_IDS_MAX = 200;

const stopped: HostAnswer = {
  behavior: 'deny',
  message: 'The person stopped the turn instead of answering.',
  interrupt: true,
};

export class Asker {
  readonly #parts: AskerParts;
  #shownIds: string[] = [];
  #onShown: () => void = () => {};

  constructor(parts: AskerParts) {
    this.#parts = parts;
  }

  readonly canUseTool: CanUseTool = (toolName, input, options) => {
    const { questions, look, print } = this.#parts;
    return questions.inTurn(async (): Promise<HostAnswer> => {
      await this.#whenShown(options.toolUseID);
      if (options.signal.aborted) return stopped;
      const reason = options.decisionReason;
      const updates = this.#updatesFor(toolName, input, options.suggestions);
      const question: Question = { toolName, input, reason, updates };
      for (const line of await questionLines(question, look())) print(line);
      return questions.open(options.signal, stopped, (settle) => ({
        hints: answersHint(question),
        stopsTurn: true,
        answer: (text) => this.#answer(text, question, settle),
        stop: () => settle(stopped),
      }));
    });
  };

  /** The person has seen this call: what is asked about it makes sense now. */
  shown(toolUseId: string): void {
    this.#shownIds = [...this.#shownIds, toolUseId].slice(-SHOWN_IDS_MAX);
    this.#onShown();
  }

  /** @returns what to say when it was no answer. */
  #answer(
    text: string,
    question: Question,
    settle: (answer: HostAnswer) => void,
  ): string | undefined {
    const { colors } = this.#parts.look();
    const answer = answerOf(text, question);
    switch (answer.kind) {
      case 'unclear':
        return answer.hint;
      case 'once':
        this.#parts.print(colors.dim('  ✓ allowed, once'));
        settle({ behavior: 'allow' });
        return undefined;
      case 'session':
        this.#allowFromNowOn(question.updates);
        settle({ behavior: 'allow' });
        return undefined;
      case 'deny': {
        const { columns } = this.#parts.look();
        this.#parts.print(colors.red(clipCells(`  ✗ not allowed: ${oneLine(text)}`, columns)));
        settle({ behavior: 'deny', message: answer.message });
        return undefined;
      }
    }
  }

  /** Calls begin while their message is still on its way here. */
  async #whenShown(toolUseId: string): Promise<void> {
    const deadlineMs = performance.now() + SHOWN_MS;
    while (!this.#shownIds.includes(toolUseId) && performance.now() < deadlineMs) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadlineMs - performance.now());
        this.#onShown = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Only for this session, wherever the suggestion would have put it: a key is no signature. */
  #updatesFor(
    toolName: string,
    input: Question['input'],
    given: readonly unknown[] | undefined,
  ): readonly PermissionUpdate[] {
    const { tools, mcpClients, cwd, env } = this.#parts.config();
    const all = [...tools, ...mcpClients.flatMap((client) => client.tools)];
    const tool = all.find(({ name }) => name === toolName);
    const own = tool ? suggestionsFor(tool, input, { cwd, home: userHomeOf(env) }) : [];
    const suggested = (given as readonly PermissionUpdate[] | undefined) ?? own;
    return suggested.map((update) => ({ ...update, destination: 'session' as const }));
  }

  #allowFromNowOn(updates: readonly PermissionUpdate[]): void {
    const { getAppState, setAppState } = this.#parts.config();
    const { colors } = this.#parts.look();
    const { context, problems } = applyUpdates(getAppState().toolPermissionContext, updates);
    setAppState((previous) => ({ ...previous, toolPermissionContext: context }));
    const what = updatesText(updates);
    this.#parts.print(colors.dim(`  ✓ allowed, from now on in this session: ${what}`));
    for (const problem of problems) this.#parts.print(colors.yellow(`  ⚠ ${visible(problem)}`));
  }
}

const oneLine = (text: string): string => visible(text).replace(/\s+/g, ' ').trim();
