import type { ToolState } from './tool.ts';

/** One step of the model's plan. */
export interface Todo {
  /** What to do: `Run the tests`. */
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
  /** While it is done: `Running the tests`. */
  readonly activeForm: string;
}

/** The session's list, empty at first. A call replaces `todos` as a whole. */
export const todosOf = (state: ToolState): { todos: readonly Todo[] } =>
  state.get('todos', (): { todos: readonly Todo[] } => ({ todos: [] }));
