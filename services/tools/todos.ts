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
export class TodoList {
  #todos: readonly Todo[] = [];
  /** Told of each new list. */
  onChange: (todos: readonly Todo[]) => void = () => {};

  get todos(): readonly Todo[] {
    return this.#todos;
  }
  set todos(next: readonly Todo[]) {
    this.#todos = next;
    this.onChange(next);
  }
}

export const todosOf = (state: ToolState): TodoList => state.get('todos', () => new TodoList());
