import { expect, test } from 'vitest';
import { todoWriteTool } from '../../../services/tools/todo-write.ts';
import { type Todo, todosOf } from '../../../services/tools/todos.ts';
import { contextIn, toolState } from './files/kit.ts';

const todo = (content: string, status: Todo['status']): Todo => ({
  content,
  status,
  activeForm: `${content}ing`,
});

test('the list is kept in the session, replaced as a whole, and told in short', async () => {
  const state = toolState();
  const write = async (todos: readonly Todo[]) => {
    const parsed = await todoWriteTool.parse({ todos });
    if (!parsed.ok) throw new Error(parsed.message);
    return todoWriteTool.call(parsed.input, contextIn('/', { state }));
  };
  const first = [todo('Build', 'in_progress'), todo('Test', 'pending')];
  expect(await write(first)).toEqual({
    content: 'Kept: 0 completed, 1 in progress, 1 pending.',
    data: { oldTodos: [], newTodos: first },
  });
  expect(todosOf(state).todos).toEqual(first);
  const second = [todo('Build', 'in_progress'), todo('Test', 'in_progress')];
  const output = await write(second);
  expect(output.content).toContain('Only one should be in progress');
  expect(output.isError).toBeUndefined();
  expect(output.data).toEqual({ oldTodos: first, newTodos: second });
  expect((await write([todo('Build', 'pending')])).content).toContain('None is in progress');
  await write([todo('Build', 'completed')]);
  expect(todosOf(state).todos).toEqual([]);
  expect((await write([])).content).toBe('The list is empty now.');
});

test('a wrong list is refused with the place of the mistake', async () => {
  const parsed = await todoWriteTool.parse({
    todos: [
      { content: 'Build', status: 'doing', activeForm: 'x' },
      { content: ' ', status: 'pending' },
    ],
  });
  expect(parsed.ok).toBe(false);
  if (parsed.ok) return;
  expect(parsed.message).toContain('`todos.0.status`');
  expect(parsed.message).toContain('`todos.1.content`');
  expect(parsed.message).toContain('missing parameter `todos.1.activeForm`');
});

test('what is shown while it runs', () => {
  expect(todoWriteTool.gist({ todos: [todo('Build', 'in_progress')] })).toBe('Building');
  expect(todoWriteTool.gist({ todos: [todo('Build', 'pending')] })).toBe('1 todo');
  expect(todoWriteTool.gist({ todos: [null] })).toBe('1 todo');
  expect(todoWriteTool.gist({})).toBe('todos');
});
