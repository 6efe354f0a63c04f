/** Runs a tool so that it comes to an end: whatever the tool does, there is an answer. */
import { Deadline } from '../../deadline.ts';
import { orAborted } from '../../or-aborted.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { type Answer, answers, late } from './answer.ts';
import type { ReadyCall } from './permit.ts';
import { presentable } from './presentable.ts';

/** What a tool gets to stop by itself and say what it has, once it was told to. */
const STOPPING_MS = 3_000;

type Settled =
  | { readonly kind: 'output'; readonly output: ToolOutput }
  | { readonly kind: 'threw'; readonly error: unknown };

export interface RunToolOptions {
  readonly deadlineMs: number;
  /** Made with a signal of the tool's own, which the deadline aborts, too. */
  makeContext(signal: AbortSignal, deadline: Deadline): ToolContext;
  /** Hears of the tool's own promise, which can outlive the answer. */
  watch(working: Promise<unknown>): void;
  readonly stoppingMs?: number;
}

/**
 * Calls the tool and waits for its output, its deadline or the end of the query.
 * *Contract:* never throws, and resolves at the latest `stoppingMs` after deadline or abort, also
 * when the tool ignores its signal. The deadline counts from here: a person was asked before; it
 * stands still while the tool itself lets one be asked.
 */
export async function runTool(call: ReadyCall, options: RunToolOptions): Promise<Answer> {
  const { deadlineMs } = options;
  const controller = new AbortController();
  const deadline = new Deadline(deadlineMs);
  const settled = settle(() =>
    call.tool.call(call.input, options.makeContext(controller.signal, deadline)),
  );
  options.watch(settled);

  try {
    const first = await orAborted(settled, AbortSignal.any([deadline.signal, call.signal]));
    if (first) return answerOf(call, first);
    const isOverdue = !call.signal.aborted;
    const why = isOverdue ? `no result within ${deadlineMs} ms` : 'interrupted';
    controller.abort(new DOMException(why, isOverdue ? 'TimeoutError' : 'AbortError'));

    const patience = new Deadline(options.stoppingMs ?? STOPPING_MS);
    const last = await orAborted(settled, patience.signal);
    patience.dispose();
    if (last?.kind === 'output') {
      return presentable(isOverdue ? late(last.output, deadlineMs) : last.output);
    }
    return isOverdue ? answers.overdue(call.tool, deadlineMs) : answers.aborted(call.tool);
  } finally {
    deadline.dispose();
  }
}

/** A tool may also throw at once, or return something that is no promise. */
async function settle(run: () => Promise<ToolOutput>): Promise<Settled> {
  try {
    const output: unknown = await run();
    if (output === null || typeof output !== 'object' || !('content' in output)) {
      return { kind: 'output', output: { content: '' } };
    }
    return { kind: 'output', output: output as ToolOutput };
  } catch (error) {
    return { kind: 'threw', error };
  }
}

const answerOf = (call: ReadyCall, settled: Settled): Answer =>
  settled.kind === 'output'
    ? presentable(settled.output)
    : presentable(answers.threw(call.tool, settled.error));
