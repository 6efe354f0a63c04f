/** The heavy half of TodoWrite. */
import { z } from 'zod';
import type { Implementation } from './define-tool.ts';
import { countOf } from './text/amounts.ts';
import { type Todo, todosOf } from './todos.ts';

/** More is no plan but a database. */
const TODOS_MAX = 200;
const TODO_CHARS_MAX = 2_000;

const words = z.string().trim().min(1).max(TODO_CHARS_MAX);
export const todoWriteInput = z.strictObject({
  todos: z
    .array(
      z.strictObject({
        content: words.describe('What to do: "Run the tests"'),
        status: z.enum(['pending', 'in_progress', 'completed']),
        activeForm: words.describe('While it is done: "Running the tests"'),
      }),
    )
    .max(TODOS_MAX),
});

/** Keeps the list of the session; a finished list is put away. */
export const todoListTool: Implementation<typeof todoWriteInput> = {
  schema: todoWriteInput,
  call: async ({ todos }, context) => {
    const list = todosOf(context.state);
    const oldTodos = list.todos;
    const isDone = todos.length > 0 && todos.every(({ status }) => status === 'completed');
    list.todos = isDone ? [] : todos;
    return { content: sayTodos(todos, isDone), data: { oldTodos, newTodos: todos } };
  },
};

const sayTodos = (todos: readonly Todo[], isDone: boolean): string => {
  if (todos.length === 0) return 'The list is empty now.';
  if (isDone) return `All ${countOf(todos.length, 'todo')} completed; the list was put away.`;
  const count = (status: Todo['status']) => todos.filter((todo) => todo.status === status).length;
  const said =
    `Kept: ${count('completed')} completed, ${count('in_progress')} in progress, ` +
    `${count('pending')} pending.`;
  switch (count('in_progress')) {
    case 0:
      return `${said} None is in progress: mark the one that you begin.`;
    case 1:
      return said;
    default:
      return `${said} Only one should be in progress at a time.`;
  }
};
