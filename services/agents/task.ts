/** The heavy half of the tools that delegate. */
import { failed, type Implementation } from '../tools/define-tool.ts';
import type { ToolOutput } from '../tools/tool.ts';
import type { TaskState } from './agent-runner.ts';
import { taskInput, taskOutputInput, taskStopInput } from './inputs.ts';

const WAIT_MS = 30_000;
const NO_AGENTS = 'There is nobody to give a task to from here: do it yourself.';

/** Task: waits for the agent, unless it is to work in the background. */
export const taskTool: Implementation<typeof taskInput> = {
  schema: taskInput,
  call: async (input, context) => {
    if (!context.agents) return failed(NO_AGENTS);
    return context.agents.run({
      toolUseId: context.toolUseId,
      description: input.description,
      prompt: input.prompt,
      agent: input.subagent_type?.trim() || 'general-purpose',
      isBackground: input.run_in_background ?? false,
      signal: context.signal,
      progress: context.progress,
    });
  },
};

/** TaskOutput: the answer of a task in the background, waited for. */
export const taskOutputTool: Implementation<typeof taskOutputInput> = {
  schema: taskOutputInput,
  call: async ({ task_id, block = true, timeout = WAIT_MS }, { agents, signal }) => {
    if (!agents) return failed(NO_AGENTS);
    const task = await agents.wait(task_id, block ? timeout : 0, signal);
    return task ? outputOf(task) : unknownTask(task_id, agents.tasks());
  },
};

/** TaskStop: ends a task in the background. */
export const taskStopTool: Implementation<typeof taskStopInput> = {
  schema: taskStopInput,
  call: async ({ task_id }, { agents }) => {
    if (!agents) return failed(NO_AGENTS);
    if (agents.stop(task_id)) return { content: `The task ${task_id} was told to stop.` };
    return unknownTask(task_id, agents.tasks());
  },
};

const outputOf = (task: TaskState): ToolOutput => ({
  content:
    task.status === 'running'
      ? `The task "${task.description}" still runs.`
      : `The task "${task.description}" has ended (${task.status}):\n${task.answer ?? ''}`,
  data: task,
});

function unknownTask(taskId: string, tasks: readonly TaskState[]): ToolOutput {
  const known = tasks.map((task) => `${task.taskId} (${task.description}, ${task.status})`);
  return failed(
    `No task ${taskId} in the background. ${known.length > 0 ? `There are: ${known.join('; ')}.` : 'There is none.'}`,
  );
}
