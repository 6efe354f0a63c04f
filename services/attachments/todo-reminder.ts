/** A plan that the model has not looked at for a while is shown to it again. */
import { todosOf } from '../tools/todos.ts';
import type { ToolState } from '../tools/tool.ts';
import { attachmentMessage } from './attachment-message.ts';
import type { AttachmentSource } from './attachments.ts';

/** Long enough for one step of a plan, short enough that it is not forgotten. */
const ROUNDS = 10;
/** Of the list; the rest is counted. */
const TODOS_SHOWN = 30;

export interface TodoReminderDeps {
  readonly toolState: ToolState;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** Counts rounds; asked once for each. */
export const createTodoReminder = (deps: TodoReminderDeps): AttachmentSource => {
  let rounds = 0;
  let known = todosOf(deps.toolState).todos;
  return async () => {
    const { todos } = todosOf(deps.toolState);
    const isTouched = todos !== known;
    known = todos;
    rounds = isTouched || todos.length === 0 ? 0 : rounds + 1;
    if (rounds < ROUNDS) return [];
    rounds = 0;
    const lines = todos
      .slice(0, TODOS_SHOWN)
      .map(({ status, content }) => `- [${status}] ${content}`);
    const more = todos.length - lines.length;
    const text = `Your list of steps, unchanged for ${ROUNDS} rounds. Bring it up to date if it is not:\n${lines.join('\n')}${more > 0 ? `\n(${more} more)` : ''}`;
    return [attachmentMessage(text, deps)];
  };
};
