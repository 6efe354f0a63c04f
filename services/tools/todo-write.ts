/** TodoWrite: the model's plan, which the host shows and a compaction keeps. */
import { defineTool } from './define-tool.ts';
import { toolSchemas } from './schemas.generated.ts';
import { countOf } from './text/amounts.ts';
import type { Todo } from './todos.ts';
import type { ToolInput } from './tool.ts';

const gistOf = ({ todos }: ToolInput): string => {
  if (!Array.isArray(todos)) return 'todos';
  const active: unknown = todos.find((todo: Partial<Todo>) => todo?.status === 'in_progress');
  const form = (active as Partial<Todo> | undefined)?.activeForm;
  return typeof form === 'string' ? form : countOf(todos.length, 'todo');
};

export const todoWriteTool = defineTool({
  name: 'TodoWrite',
  description:
    'Keeps your list of steps for work that has several; each call gives the whole list. Have one ' +
    'in_progress at a time, and mark a step completed as soon as it is.',
  inputSchema: toolSchemas.TodoWrite,
  isReadOnly: () => false,
  touches: () => ({ kind: 'nothing' }),
  gist: gistOf,
  load: async () => (await import('./todo-list.ts')).todoListTool,
});
