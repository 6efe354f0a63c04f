/** How an agent has ended: for its caller, and for whoever reads of it later. */
import type { QueryResult } from '../../machines/state.ts';
import type { TaskState } from '../../services/agents/agent-runner.ts';
import type { LogMessage } from '../../services/messages.ts';
import { headAndTail } from '../../services/tools/text/head-and-tail.ts';
import type { ToolOutput } from '../../services/tools/tool.ts';
import { wellFormed } from '../../services/well-formed.ts';
import { isGoodEnding } from '../result.ts';
import type { Turn } from '../turn.ts';

/** A longer answer is cut in the middle: the caller asked for a report, not for the material. */
const ANSWER_CHARS_MAX = 30_000;

/** What is left of an agent. */
export interface AgentEnd {
  readonly status: Exclude<TaskState['status'], 'running'>;
  readonly answer: string;
  readonly modelCalls: number;
  /** A person's "no" that was meant for all of it. */
  readonly interrupts: boolean;
}

/**
 * @param last what the agent said last, for a turn that kept nothing.
 * @param stopped aborted when the task itself was told to stop.
 */
export function endOf(
  result: QueryResult,
  turn: Turn,
  last: string,
  stopped: AbortSignal,
): AgentEnd {
  const { reason, answerCount: modelCalls } = result;
  const isAborted = reason === 'aborted_streaming' || reason === 'aborted_tools';
  const said = headAndTail(wellFormed(turn.keptText || last).trim(), ANSWER_CHARS_MAX);
  if (isGoodEnding(reason)) {
    const answer = said || '(The agent ended without a word.)';
    return { status: 'completed', answer, modelCalls, interrupts: false };
  }
  const why = turn.errors.length > 0 ? `${reason}: ${turn.errors.join(' ')}` : reason;
  return {
    status: isAborted ? 'stopped' : 'failed',
    answer: `The agent did not finish (${why}).${said ? ` What it said last:\n${said}` : ''}`,
    modelCalls,
    interrupts: isAborted && !stopped.aborted,
  };
}

/** For the caller, as the result of its call. */
export const outputOf = (
  state: TaskState,
  { status, answer, modelCalls }: AgentEnd,
): ToolOutput => ({
  content: answer,
  ...(status === 'completed' ? {} : { isError: true }),
  data: { ...state, modelCalls },
});

export const noticeId = (taskId: string) => `notice-${taskId}`;

/** For the model, with the next round or the next prompt. */
export const noticeOf = (
  { taskId, description, status, answer }: TaskState,
  now: Date,
): LogMessage => ({
  uuid: noticeId(taskId),
  role: 'user',
  kind: 'note',
  origin: 'attachment',
  timestamp: now.toISOString(),
  isMeta: true,
  content: [
    {
      type: 'text',
      text: `The task ${taskId} in the background ("${description}") has ended (${status}):\n${answer ?? ''}`,
    },
  ],
});
