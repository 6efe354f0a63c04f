/**
 * One call from its parsed input to its answer: permission, ledger, tool, hooks.
 * Knows nothing of its siblings but what its slot says.
 */
import type { Deadline } from '../../deadline.ts';
import type { HookVerdict } from '../../hooks/types.ts';
import { messageOf } from '../../message-of.ts';
import type { ToolInput } from '../tool.ts';
import { type Answer, answers, inputHashOf, textOf } from './answer.ts';
import type { ExecutorDeps, LedgerCall } from './deps.ts';
import { type Asking, hookFieldsOf, permit, type ReadyCall } from './permit.ts';
import { presentable } from './presentable.ts';
import { runTool } from './run-tool.ts';

/** What the scheduler does for a call while it runs. */
export interface Slot extends Asking {
  /** For the input that runs. */
  deadlineMs(input: ToolInput): number;
  /** Why nothing of this round may begin any more. */
  halted(): string | undefined;
  /** The edited input is no longer safe beside others: resolves when nothing else runs. */
  alone(): Promise<void>;
  /** History shows this input from now on. */
  amend(input: ToolInput): void;
  /** The tool itself begins: shown as progress. */
  working(input: ToolInput, promise: Promise<unknown>): void;
  progress(gist: string): void;
}

export type Outcome = { readonly input: ToolInput; readonly contexts: readonly string[] } & (
  | {
      readonly kind: 'answered';
      readonly answer: Answer;
      readonly isDenial: boolean;
      readonly interrupts: boolean;
      /** A hook before the tool: nothing else of the round begins. */
      readonly halts?: string;
      /** A hook after the tool: the turn ends when the round is complete. */
      readonly stops?: string;
    }
  | { readonly kind: 'deferred' }
);

/** *Contract:* resolves with exactly one outcome; a throw inside is an answer, too. */
export async function runCall(call: ReadyCall, deps: ExecutorDeps, slot: Slot): Promise<Outcome> {
  try {
    return await steps(call, deps, slot);
  } catch (error) {
    return { ...answered(call.input, answers.ownFault(error)) };
  }
}

const answered = (input: ToolInput, answer: Answer, contexts: readonly string[] = []) => ({
  ...{ kind: 'answered' as const, isDenial: false, interrupts: false },
  ...{ input, answer, contexts },
});

async function steps(call: ReadyCall, deps: ExecutorDeps, slot: Slot): Promise<Outcome> {
  const permitted = await permit(call, deps, slot);
  const { input, contexts } = permitted;
  if (permitted.kind === 'refused') {
    const { answer, isDenial, interrupts, stops } = permitted;
    const halts = stops === undefined ? {} : { halts: stops };
    return { ...answered(input, answer, contexts), isDenial, interrupts, ...halts };
  }
  if (permitted.isEdited) slot.amend(input);
  if (permitted.kind === 'deferred') return { kind: 'deferred', input, contexts };

  const edited: ReadyCall = { ...call, input };
  if (permitted.isEdited && !isSafe(edited)) await slot.alone();
  const halted = slot.halted();
  if (halted !== undefined) return answered(input, answers.notRun(halted), contexts);
  if (call.signal.aborted) return answered(input, answers.notRun('it was interrupted.'), contexts);

  const ran = await runWithLedger(edited, deps, slot);
  if (!ran.hasRun || call.signal.aborted) return answered(input, ran.answer, contexts);
  return afterwards(edited, ran.answer, contexts, deps);
}

/** In doubt: no. */
export const isSafe = ({ tool, input }: Pick<ReadyCall, 'tool' | 'input'>): boolean => {
  try {
    return tool.isConcurrencySafe(input);
  } catch {
    return false;
  }
};
const isReadOnly = ({ tool, input }: ReadyCall): boolean => {
  try {
    return tool.isReadOnly(input);
  } catch {
    return false;
  }
};

/** Only what changes nothing may run without having been written down before. */
async function runWithLedger(
  call: ReadyCall,
  deps: ExecutorDeps,
  slot: Slot,
): Promise<{ answer: Answer; hasRun: boolean }> {
  const { id, input } = call;
  const entry: LedgerCall | undefined =
    deps.ledger && !isReadOnly(call)
      ? { id, name: call.tool.name, input, inputHash: inputHashOf(input) }
      : undefined;
  try {
    if (entry) await deps.ledger?.started(entry);
    // Stopped while the disk was waited for: nothing has happened yet, so nothing will.
    if (call.signal.aborted) {
      if (entry) await deps.ledger?.finished({ ...entry, isError: true });
      return { answer: answers.notRun('it was interrupted.'), hasRun: false };
    }
  } catch (error) {
    const why = `it could not be written down that it begins, and nothing runs unrecorded (${messageOf(error)}).`;
    return { answer: answers.notRun(why), hasRun: false };
  }
  const answer = await runTool(call, {
    deadlineMs: slot.deadlineMs(input),
    makeContext: (signal, deadline) =>
      deps.makeContext(id, signal, {
        progress: slot.progress,
        whilePersonIsAsked: (ask) => whileAsked(ask, deps.uuid(), slot, deadline),
      }),
    ...(deps.stoppingMs === undefined ? {} : { stoppingMs: deps.stoppingMs }),
    watch: (promise) => slot.working(input, promise),
  });
  try {
    if (entry) await deps.ledger?.finished({ ...entry, isError: answer.isError });
  } catch (error) {
    deps.onWarning(`the end of ${call.tool.name} could not be written down: ${messageOf(error)}`);
  }
  return { answer, hasRun: true };
}

/** A tool lets a person be asked: neither its own clock nor the chart's counts this. */
async function whileAsked<T>(
  ask: () => Promise<T>,
  question: string,
  slot: Slot,
  deadline: Deadline,
): Promise<T> {
  const goOn = deadline.pause();
  slot.asked(question);
  try {
    return await ask();
  } finally {
    slot.answered(question);
    goOn();
  }
}

/** Hooks look at what was done: they may replace the output, add to it, or end the turn. */
async function afterwards(
  call: ReadyCall,
  answer: Answer,
  before: readonly string[],
  deps: ExecutorDeps,
): Promise<Outcome> {
  const event = answer.isError ? 'PostToolUseFailure' : 'PostToolUse';
  const said = answer.isError
    ? { error: textOf(answer.content), is_interrupt: false }
    : { tool_response: answer.data ?? answer.content };
  const verdict = await deps.runHooks(
    event,
    { ...hookFieldsOf(call), ...said },
    { matchQuery: call.tool.name, toolUseId: call.id, signal: call.signal },
  );
  for (const warning of verdict.warnings) deps.onWarning(warning);
  const contexts = [
    ...before,
    ...verdict.blocked.map((reason) => objection(call, reason)),
    ...verdict.additionalContext,
  ];
  const stops = verdict.prevented ? { stops: verdict.prevented.reason } : {};
  return { ...answered(call.input, replaced(answer, verdict), contexts), ...stops };
}

const objection = (call: ReadyCall, reason: string) =>
  `A hook objects to the call ${call.id} of ${call.tool.name}, which has already run: ${reason}`;

function replaced(answer: Answer, { updatedToolOutput: output }: HookVerdict): Answer {
  if (output === undefined) return answer;
  const content = typeof output === 'string' ? output : contentOf(output);
  return presentable({ content, isError: answer.isError, data: output });
}

/** A hook replaces the content in the tool's own shape, or gives the blocks, or any JSON. */
function contentOf(output: unknown): Answer['content'] {
  const inner =
    output !== null && typeof output === 'object' && 'content' in output ? output.content : output;
  return inner as Answer['content']; // whatever it is: it is looked at where every output is
}
