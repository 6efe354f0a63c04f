/**
 * Agents of one session: conversations of their own, each a run of the same chart. Those that are
 * waited for end with the query that called them; those in the background with the session. Here is
 * who works for whom; how one works, ends and is heard stands in `subagents/`.
 */
import { builtInAgents, mergedAgents } from '../services/agents/agent-definition.ts';
import type { AgentRunner, AgentTask, TaskState } from '../services/agents/agent-runner.ts';
import { orAborted } from '../services/or-aborted.ts';
import { failed } from '../services/tools/define-tool.ts';
import type { ToolOutput } from '../services/tools/tool.ts';
import type { QueryScope } from './query-scope.ts';
import type { Session } from './session.ts';
import { type AgentEnd, noticeId, noticeOf, outputOf } from './subagents/agent-end.ts';
import { workOf } from './subagents/converse.ts';
import { systemToWire } from './to-wire.ts';
import type { SDKMessage } from './wire.ts';

/** In the background at once: each is a conversation that costs money unseen. */
const BACKGROUND_MAX = 10;
/** Ended tasks whose answer nobody has read: the oldest is forgotten. */
const UNREAD_MAX = 50;

interface Task {
  state: TaskState;
  readonly isBackground: boolean;
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

export class Subagents {
  readonly #session: Session;
  readonly #current: () => QueryScope | undefined;
  readonly #tasks = new Map<string, Task>();
  /** What the host has to hear and could not, for no turn was running. */
  #unheard: SDKMessage[] = [];

  /** @param current the query of the session that runs, the way to the host. */
  constructor(session: Session, current: () => QueryScope | undefined) {
    this.#session = session;
    this.#current = current;
  }

  /** For the tools of a query. @param depth of the query: 0 is the session's own. */
  runnerFor(caller: QueryScope, depth: number): AgentRunner {
    return {
      run: (task) => this.#run(task, caller, depth + 1),
      tasks: () => this.#background().map(({ state }) => state),
      wait: (taskId, waitMs, signal) => this.#wait(taskId, waitMs, signal),
      stop: (taskId) => this.stop(taskId),
    };
  }

  /** Ends one task. @returns whether it was running. */
  stop(taskId: string): boolean {
    const task = this.#tasks.get(taskId);
    if (task?.state.status !== 'running') return false;
    task.controller.abort();
    return true;
  }

  /** What happened while no turn was running, oldest first. Once. */
  takeUnheard(): readonly SDKMessage[] {
    return this.#unheard.splice(0);
  }

  /** The session ends: so do all that work for it. */
  async close(): Promise<void> {
    const tasks = [...this.#tasks.values()];
    for (const { controller } of tasks) controller.abort();
    await Promise.all(tasks.map(({ ended }) => ended));
  }

  #background(): readonly Task[] {
    return [...this.#tasks.values()].filter(({ isBackground }) => isBackground);
  }

  /** The answer is read herewith: it is not told again. */
  async #wait(taskId: string, waitMs: number, signal: AbortSignal): Promise<TaskState | undefined> {
    const task = this.#tasks.get(taskId);
    if (!task?.isBackground) return undefined;
    const patience = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    if (task.state.status === 'running') await orAborted(task.ended, patience);
    if (task.state.status !== 'running') {
      this.#tasks.delete(taskId);
      const { notices } = this.#session;
      const at = notices.findIndex(({ uuid }) => uuid === noticeId(taskId));
      if (at >= 0) notices.splice(at, 1);
    }
    return task.state;
  }

  async #run(task: AgentTask, caller: QueryScope, depth: number): Promise<ToolOutput> {
    const agents = mergedAgents(builtInAgents, this.#session.config.agents);
    const agent = agents.find(({ name }) => name === task.agent);
    if (!agent) {
      return failed(
        `There is no agent ${task.agent}. There are: ${agents.map(({ name }) => name).join(', ')}.`,
      );
    }
    // Only the session outlives its calls: agents wait for those whom they ask.
    const isBackground = task.isBackground && depth === 1;
    const running = this.#background().filter(({ state }) => state.status === 'running');
    if (isBackground && running.length >= BACKGROUND_MAX) {
      return failed(`${running.length} tasks run in the background already: wait for one of them.`);
    }
    const controller = new AbortController();
    const { toolUseId: taskId, description } = task;
    const working = workOf(
      { agent, task, depth, isBackground, controller },
      {
        ...{ caller, current: this.#current },
        runnerFor: (scope) => this.runnerFor(scope, depth),
        onStart: () =>
          this.#tellHost({
            ...{ subtype: 'task_started', task_id: taskId, tool_use_id: taskId },
            ...{ description, task_type: 'local_agent' },
          }),
      },
    );
    const entry: Task = {
      state: { taskId, agent: agent.name, description, status: 'running' },
      isBackground,
      controller,
      ended: working.then((end) => this.#end(entry, end)),
    };
    this.#tasks.set(taskId, entry);
    if (isBackground) {
      return {
        content: `The task runs in the background as ${taskId}. You are told when it has ended; TaskOutput waits for it.`,
        data: entry.state,
      };
    }
    caller.delegated.add(entry.ended);
    const end = await working;
    await entry.ended;
    caller.delegated.delete(entry.ended);
    if (end.interrupts && !task.signal.aborted) caller.interrupt();
    return outputOf(entry.state, end);
  }

  #end(entry: Task, { status, answer }: AgentEnd): void {
    const { taskId, description } = entry.state;
    entry.state = { ...entry.state, status, answer };
    this.#tellHost({
      ...{ subtype: 'task_notification', task_id: taskId, tool_use_id: taskId, status },
      ...{ output_file: '', summary: `${description}: ${status}` },
    });
    if (!entry.isBackground) {
      this.#tasks.delete(taskId);
      return;
    }
    const { notices, now } = this.#session;
    notices.push(noticeOf(entry.state, now()));
    const ended = this.#background().filter(({ state }) => state.status !== 'running');
    for (const { state } of ended.slice(0, -UNREAD_MAX)) this.#tasks.delete(state.taskId);
    if (notices.length > UNREAD_MAX) notices.splice(0, notices.length - UNREAD_MAX);
  }

  #tellHost(word: Parameters<typeof systemToWire>[0]): void {
    const message = systemToWire(word, this.#session.uuid(), this.#session.id);
    const scope = this.#current();
    if (scope && !scope.queue.isOver) scope.queue.push(message);
    else this.#unheard = [...this.#unheard, message].slice(-UNREAD_MAX);
  }
}
