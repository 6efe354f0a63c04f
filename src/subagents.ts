/**
 * Agents of one session: conversations of their own, each a run of the same chart. Those that are
 * waited for end with the query that called them; those in the background with the session.
 */
import { limitsOf } from '../machines/limits.ts';
import type { QueryInput, QueryResult } from '../machines/state.ts';
import {
  AGENT_TURNS_MAX,
  type AgentDefinition,
  builtInAgents,
  mergedAgents,
} from '../services/agents/agent-definition.ts';
import type { AgentRunner, AgentTask, TaskState } from '../services/agents/agent-runner.ts';
import { emptyHistory } from '../services/message-log.ts';
import type { LogMessage } from '../services/messages.ts';
import { failed } from '../services/tools/define-tool.ts';
import { headAndTail } from '../services/tools/text/head-and-tail.ts';
import type { ToolOutput } from '../services/tools/tool.ts';
import { wellFormed } from '../services/well-formed.ts';
import { snapshotQueryConfig } from './config.ts';
import { productionDeps } from './deps.ts';
import { modelNamed } from './model-access.ts';
import { OutputQueue, progressKey } from './output-queue.ts';
import { queryLimits } from './query-limits.ts';
import { QueryScope } from './query-scope.ts';
import { isGoodEnding } from './result.ts';
import { runQuery } from './run-query.ts';
import { type Session, SessionToolState } from './session.ts';
import { sessionServices } from './session-services.ts';
import { agentSession } from './subagent-session.ts';
import { systemToWire } from './to-wire.ts';
import { Turn } from './turn.ts';
import type { SDKMessage } from './wire.ts';

/** A longer answer is cut in the middle: the caller asked for a report, not for the material. */
const ANSWER_CHARS_MAX = 30_000;
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

/** What is left of an agent. */
interface AgentEnd {
  readonly status: Exclude<TaskState['status'], 'running'>;
  readonly answer: string;
  readonly modelCalls: number;
  /** A person's "no" that was meant for all of it. */
  readonly interrupts: boolean;
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
    if (task.state.status === 'running') await Promise.race([task.ended, aborted(patience)]);
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
    const working = this.#work({ agent, task, depth, isBackground, controller }, caller);
    const { toolUseId: taskId, description } = task;
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

  /** *Contract:* never rejects. */
  async #work(work: Work, caller: QueryScope): Promise<AgentEnd> {
    try {
      return await this.#converse(work, caller);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const answer = `The agent could not work: ${why}`;
      return { status: 'failed', answer, modelCalls: 0, interrupts: false };
    }
  }

  async #converse(work: Work, caller: QueryScope): Promise<AgentEnd> {
    const { agent, task, depth, isBackground, controller } = work;
    const { toolUseId } = task;
    const model = modelOf(agent, caller.session);
    const session = agentSession(caller.session, { agent, toolUseId, model, depth });
    const turn = new Turn(session.usage.snapshot());
    const scope = scopeOf(session, turn, caller, isBackground ? undefined : toolUseId);
    scope.agents = this.runnerFor(scope, depth);
    const toCaller = () => (isBackground ? this.#current() : caller);
    this.#tellHost({
      ...{ subtype: 'task_started', task_id: toolUseId, tool_use_id: toolUseId },
      ...{ description: task.description, task_type: 'local_agent' },
    });
    const signal = AbortSignal.any([
      controller.signal,
      ...(isBackground ? hostsOwn(session) : [task.signal]),
    ]);
    const config = snapshotQueryConfig(session.id, session.config.gates);
    const deps = productionDeps(
      scope,
      config,
      sessionServices(session, () => scope),
    );
    const running = runQuery({
      ...{ config, scope, signal },
      input: inputOf(task, session, model),
      deps: { ...deps, ...session.config.deps },
      about: { title: task.description, toolUseId, agent: agent.name },
    });
    try {
      let last = '';
      const result = yieldAll(running, async (message) => {
        last = textOf(message) ?? last;
        if (message.type === 'assistant') task.progress(gistOf(agent, message));
        const target = toCaller();
        for (const passed of passable(message, toolUseId)) target?.queue.push(passed);
        await target?.queue.room();
      });
      return endOf(await result, turn, last, controller.signal);
    } finally {
      if (!isBackground) caller.turn.apiMs += turn.apiMs;
      if (session.toolState instanceof SessionToolState) await session.toolState.dispose();
    }
  }
}

interface Work {
  readonly agent: AgentDefinition;
  readonly task: AgentTask;
  readonly depth: number;
  readonly isBackground: boolean;
  readonly controller: AbortController;
}

const hostsOwn = ({ config: { abortController } }: Session) =>
  abortController ? [abortController.signal] : [];

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** @throws UsageError when the agent names a model that there is not. */
function modelOf({ model }: AgentDefinition, { config, chosenModel, primaryModel }: Session) {
  return model === undefined || model === 'inherit'
    ? (chosenModel ?? primaryModel)
    : modelNamed(model, config.model);
}

function scopeOf(
  session: Session,
  turn: Turn,
  caller: QueryScope,
  asksFor: string | undefined,
): QueryScope {
  return new QueryScope({
    ...{ session, turn, queue: new OutputQueue<SDKMessage>(progressKey) },
    uuid: session.uuid,
    now: session.now,
    includePartialMessages: caller.includePartialMessages,
    onDenied: caller.onDenied,
    ...(caller.canUseTool ? { canUseTool: caller.canUseTool } : {}),
    ...(asksFor === undefined ? {} : { caller: { scope: caller, toolUseId: asksFor } }),
  });
}

function inputOf(task: AgentTask, session: Session, model: string): QueryInput {
  const { log, config, spending, transcript } = session;
  const prompt = log.put({
    uuid: session.uuid(),
    role: 'user',
    kind: 'note',
    origin: 'prompt',
    timestamp: session.now().toISOString(),
    content: [{ type: 'text', text: task.prompt }],
  });
  transcript.record(prompt);
  const { fallbackModel } = config;
  const limits = { turnsMax: AGENT_TURNS_MAX, ...queryLimits(config, model, undefined) };
  return {
    queryId: session.uuid(),
    history: log.append(emptyHistory, [prompt]),
    model,
    querySource: 'subagent',
    agentId: task.toolUseId,
    startedAtMs: session.now().getTime(),
    // One purse: what the session and its other agents have spent is gone for this one, too.
    spentUsd: spending.usd,
    limits: limitsOf({ ...limits, tokenBudget: 0 }),
    ...(fallbackModel === undefined || fallbackModel === model ? {} : { fallbackModel }),
  };
}

async function yieldAll(
  running: AsyncGenerator<SDKMessage, QueryResult, unknown>,
  hear: (message: SDKMessage) => Promise<void>,
): Promise<QueryResult> {
  for (;;) {
    const step = await running.next();
    if (step.done) return step.value;
    await hear(step.value);
  }
}

/** What the host hears of an agent: all of it but the state of the session, which is not its. */
function passable(message: SDKMessage, toolUseId: string): readonly SDKMessage[] {
  switch (message.type) {
    case 'assistant':
    case 'user':
    case 'stream_event':
    case 'tool_progress':
      return [{ ...message, parent_tool_use_id: message.parent_tool_use_id ?? toolUseId }];
    case 'system':
      if (message.subtype === 'status' || message.subtype === 'session_state_changed') return [];
      return [{ ...message, parent_tool_use_id: message.parent_tool_use_id ?? toolUseId }];
    case 'tombstone':
      return [message];
    case 'tool_use_summary':
    case 'result':
      return [];
  }
}

function textOf(message: SDKMessage): string | undefined {
  if (message.type !== 'assistant' || message.error !== undefined) return undefined;
  const [block] = message.message.content;
  return block?.type === 'text' ? block.text : undefined;
}

function gistOf(
  { name }: AgentDefinition,
  { message }: Extract<SDKMessage, { type: 'assistant' }>,
): string {
  const [block] = message.content;
  return block?.type === 'tool_use' ? `${name}: ${block.name}` : name;
}

function endOf(result: QueryResult, turn: Turn, last: string, stopped: AbortSignal): AgentEnd {
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

const outputOf = (state: TaskState, { status, answer, modelCalls }: AgentEnd): ToolOutput => ({
  content: answer,
  ...(status === 'completed' ? {} : { isError: true }),
  data: { ...state, modelCalls },
});

const noticeId = (taskId: string) => `notice-${taskId}`;

/** For the model, with the next round or the next prompt. */
const noticeOf = ({ taskId, description, status, answer }: TaskState, now: Date): LogMessage => ({
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
