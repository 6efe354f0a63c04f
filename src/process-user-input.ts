/** From what the host submits to what the model is asked: commands, hooks, a budget in the words. */
import type { TerminalReason } from '../machines/reasons.ts';
import { TOKEN_BUDGET } from '../services/features.ts';
import type { ContentBlock, LogMessage } from '../services/messages.ts';
import type { Judge } from '../services/permissions/types.ts';
import { calledCommand, textOfPrompt } from './commands.ts';
import type { CommandContext, CommandOutcome, Prompt, SubmitOptions } from './config.ts';
import type { EngineState } from './engine-state.ts';
import { mentionedFiles } from './mentioned-files.ts';
import { budgetInPrompt } from './prompt-budget.ts';
import { judgePrompt, refusalText } from './prompt-hooks.ts';
import { runCommand } from './run-command.ts';
import type { Session } from './session.ts';
import { beginSession } from './session-start.ts';
import { oddUuid, soundPrompt } from './sound-prompt.ts';
import { messageToWire, systemToWire } from './to-wire.ts';
import type { Turn } from './turn.ts';
import { UsageError } from './usage-error.ts';
import type { SDKMessage } from './wire.ts';

export interface ProcessedInput {
  /** What goes into history. */
  readonly messages: readonly LogMessage[];
  /** `false`: the prompt was answered without the model. */
  readonly shouldQuery: boolean;
  /** The answer then, and how the turn ends. */
  readonly text: string;
  readonly reason: TerminalReason;
  /** What the host hears before the query. */
  readonly replies: readonly SDKMessage[];
  /** Output tokens that the words of the prompt grant. */
  readonly tokenBudget: number | undefined;
  /** The session has this prompt already: a result has named it, or will. */
  readonly isRepeated?: true;
  /** The prompt was a command that works on the conversation: this does the work. */
  readonly work?: (context: CommandContext) => Promise<CommandOutcome>;
}

/** A turn that goes on without a prompt. */
const noPrompt: ProcessedInput = {
  messages: [],
  shouldQuery: true,
  text: '',
  reason: 'completed',
  replies: [],
  tokenBudget: undefined,
};

interface Submission {
  readonly prompt: Prompt;
  readonly uuid: string;
  readonly isMeta: boolean;
  readonly session: Session;
  readonly judge: Judge;
  readonly signal: AbortSignal;
}

/**
 * 7. Slash commands, hooks of the prompt, budget in the prompt.
 * @param prompt `undefined`: the turn of a dead process is ended.
 * @throws when the prompt is empty, or its host says why it cannot be asked.
 */
export async function processUserInput(
  engine: EngineState,
  turn: Turn,
  prompt: Prompt | undefined,
  { fault, isMeta = false }: SubmitOptions,
): Promise<ProcessedInput> {
  const { session } = engine;
  const { signal } = engine.abortController;
  engine.untold.push(...(await beginSession(session, signal)));
  if (prompt === undefined) return noPrompt;
  if (fault !== undefined) throw new Error(fault);
  const uuid: unknown = turn.promptUuids[0] ?? session.uuid();
  if (typeof uuid !== 'string') throw new UsageError(oddUuid(uuid));
  const { judge } = engine.services;
  const input = await acceptPrompt({ prompt, uuid, isMeta, session, judge, signal });
  if (input.isRepeated) turn.promptUuids.shift(); // exactly one result names it
  return input;
}

async function acceptPrompt(submission: Submission): Promise<ProcessedInput> {
  const { prompt, uuid, session, judge, signal } = submission;
  if (session.log.wasAsked(uuid)) return repeated(session, uuid);
  const content = blocksOf(prompt);
  const command = calledCommand(content, session.commands());
  if (command?.command.type === 'session') {
    const { command: own, argument } = command;
    return { ...answered('', 'completed'), work: (context) => own.run(argument, context) };
  }
  const words = command && (await runCommand(command, signal));
  if (command && words === undefined) return answered('', 'aborted_streaming');
  if (command?.command.type === 'local') return answered(words ?? '', 'completed');
  const asked = words === undefined ? content : [textBlock(words)];

  const verdict = await judgePrompt(session, content, signal);
  if (verdict.refusal !== undefined) {
    const why = refusalText(verdict.refusal);
    return { ...answered(why, 'hook_stopped'), replies: [inform(session, 'warning', why)] };
  }
  const files = await mentionedFiles(textOfPrompt(asked), session, judge, signal);
  const begin = session.start.contexts.splice(0).map(textBlock);
  const more = [...files, ...begin, ...verdict.contexts];
  const message = promptMessage(submission, [...asked, ...more]);
  return {
    messages: [message],
    shouldQuery: true,
    text: '',
    reason: 'completed',
    replies: [
      ...verdict.warnings.map((warning) => inform(session, 'warning', warning)),
      ...(session.config.replayUserMessages
        ? [{ ...messageToWire(message, session.id), isReplay: true } as SDKMessage]
        : []),
    ],
    tokenBudget: TOKEN_BUDGET ? budgetInPrompt(textOfPrompt(content)) : undefined,
  };
}

/** A host that lost the connection sends its prompt again: it is shown again, and not asked again. */
function repeated(session: Session, uuid: string): ProcessedInput {
  const { log, id } = session;
  const known = log.has(uuid) ? [messageToWire(log.get(uuid), id)] : []; // a summary stands for it
  return {
    ...answered('', 'completed'),
    isRepeated: true,
    replies: [
      ...known.map((message) => ({ ...message, isReplay: true }) as SDKMessage),
      inform(
        session,
        'info',
        `The prompt ${uuid} is in the session already and was not asked again.`,
      ),
    ],
  };
}

function blocksOf(prompt: Prompt): readonly ContentBlock[] {
  const said = soundPrompt(prompt).filter(
    (block) => block.type !== 'text' || block.text.trim() !== '',
  );
  if (said.length === 0) throw new Error('the prompt is empty: say what is to be done');
  return said;
}

const textBlock = (text: string): ContentBlock => ({ type: 'text', text });

function promptMessage(
  { uuid, isMeta, session }: Submission,
  content: readonly ContentBlock[],
): LogMessage {
  return {
    uuid,
    role: 'user',
    kind: 'note',
    origin: 'prompt',
    timestamp: session.now().toISOString(),
    content,
    ...(isMeta ? { isMeta: true } : {}),
  };
}

const inform = (session: Session, level: 'info' | 'warning', content: string): SDKMessage =>
  systemToWire({ subtype: 'informational', level, content }, session.uuid(), session.id);

const answered = (text: string, reason: TerminalReason): ProcessedInput => ({
  messages: [],
  shouldQuery: false,
  text,
  reason,
  replies: [],
  tokenBudget: undefined,
});
