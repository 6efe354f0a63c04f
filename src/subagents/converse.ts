/** One agent at work: a run of the chart in a session of its own, until it ends. */
import { limitsOf } from '../../machines/limits.ts';
import type { QueryInput, QueryResult } from '../../machines/state.ts';
import { AGENT_TURNS_MAX, type AgentDefinition } from '../../services/agents/agent-definition.ts';
import type { AgentRunner, AgentTask } from '../../services/agents/agent-runner.ts';
import { emptyHistory } from '../../services/message-log.ts';
import { messageOf } from '../../services/message-of.ts';
import { snapshotQueryConfig } from '../config.ts';
import { productionDeps } from '../deps.ts';
import { modelNamed } from '../model-access.ts';
import { OutputQueue, progressKey } from '../output-queue.ts';
import { queryLimits } from '../query-limits.ts';
import { QueryScope } from '../query-scope.ts';
import { runQuery } from '../run-query.ts';
import { type Session, SessionToolState } from '../session.ts';
import { sessionServices } from '../session-services.ts';
import { agentSession } from '../subagent-session.ts';
import { Turn } from '../turn.ts';
import type { SDKMessage } from '../wire.ts';
import { type AgentEnd, endOf } from './agent-end.ts';
import { gistOf, passable, textOf } from './heard-of-agent.ts';

export interface Work {
  readonly agent: AgentDefinition;
  readonly task: AgentTask;
  readonly depth: number;
  readonly isBackground: boolean;
  readonly controller: AbortController;
}

/** Where its words go, and who works for it in turn. */
export interface Surroundings {
  readonly caller: QueryScope;
  /** The query that the host hears now; an agent in the background outlives its caller's. */
  readonly current: () => QueryScope | undefined;
  /** For the agent's own calls of `Task`. */
  readonly runnerFor: (scope: QueryScope) => AgentRunner;
  /** It has begun. */
  readonly onStart: () => void;
}

/** *Contract:* never rejects. */
export async function workOf(work: Work, around: Surroundings): Promise<AgentEnd> {
  try {
    return await converse(work, around);
  } catch (error) {
    const why = messageOf(error);
    const answer = `The agent could not work: ${why}`;
    return { status: 'failed', answer, modelCalls: 0, interrupts: false };
  }
}

async function converse(work: Work, around: Surroundings): Promise<AgentEnd> {
  const { agent, task, depth, isBackground, controller } = work;
  const { caller, current } = around;
  const { toolUseId } = task;
  const model = modelOf(agent, caller.session);
  const session = agentSession(caller.session, { agent, toolUseId, model, depth });
  const turn = new Turn(session.usage.snapshot());
  const scope = scopeOf(session, turn, caller, isBackground ? undefined : toolUseId);
  scope.agents = around.runnerFor(scope);
  const toCaller = () => (isBackground ? current() : caller);
  around.onStart();
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

const hostsOwn = ({ config: { abortController } }: Session) =>
  abortController ? [abortController.signal] : [];

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
