/** The tools that delegate, cheap to make. */
import { defineTool, textOf } from '../tools/define-tool.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { toolSchemas } from '../tools/schemas.generated.ts';
import type { Tool, ToolInput } from '../tools/tool.ts';
import { type AgentDefinition, builtInAgents, mergedAgents } from './agent-definition.ts';

/**
 * An agent has bounds of its own in turns, money and time of the host; this one is for a task that
 * has none of them and never ends. A number, for it is kept in the chart's state.
 */
const TASK_DEADLINE_MS = 6 * 3_600_000;
/** The longest wait that TaskOutput takes, and some room. */
const WAIT_DEADLINE_MS = 610_000;

const gistOf = (input: ToolInput): string =>
  textOf(input, 'description') || textOf(input, 'task_id');

/** Task, and what goes with tasks in the background: TaskOutput, TaskStop. */
export const agentTools = (agents: readonly AgentDefinition[] = []): Tool[] => [
  defineTool({
    name: 'Task',
    description: describe(mergedAgents(builtInAgents, agents)),
    inputSchema: toolSchemas.Task,
    isReadOnly: () => false,
    // Its own calls are judged one by one; several agents work beside each other.
    isConcurrencySafe: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => TASK_DEADLINE_MS,
    gist: gistOf,
    load: async () => (await import('./task.ts')).taskTool,
  }),
  defineTool({
    name: 'TaskOutput',
    description: 'Waits for a Task in the background and shows its answer.',
    inputSchema: toolSchemas.TaskOutput,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => WAIT_DEADLINE_MS,
    gist: gistOf,
    load: async () => (await import('./task.ts')).taskOutputTool,
  }),
  defineTool({
    name: 'TaskStop',
    description: 'Ends a Task in the background.',
    inputSchema: toolSchemas.TaskStop,
    isReadOnly: () => false,
    touches: () => ({ kind: 'nothing' }),
    gist: gistOf,
    load: async () => (await import('./task.ts')).taskStopTool,
  }),
];

/** The list is read with every request: long descriptions are cut. */
const DESCRIPTION_CHARS_MAX = 300;

const describe = (agents: readonly AgentDefinition[]): string =>
  [
    'Gives a task to an agent with a context of its own and returns its last message. For work ' +
      'that reads much and tells little, and for independent parts: call several at once. Agents:',
    ...agents.map(
      ({ name, description }) =>
        `- ${name}: ${clipEnd(oneSpace(description), DESCRIPTION_CHARS_MAX)}`,
    ),
  ].join('\n');

const oneSpace = (text: string): string => text.replace(/\s+/g, ' ').trim();
