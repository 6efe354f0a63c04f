/**
 * The session in which an agent works: a history, a counter and a memory of files of its own;
 * meter, hooks, permissions and file on disk are those of the session that it works for.
 */
import type { AgentDefinition } from '../services/agents/agent-definition.ts';
import { toolsOfAgent } from '../services/agents/agent-tools.ts';
import { createCheckpoints } from '../services/journal/checkpoints.ts';
import { createLedger } from '../services/journal/ledger.ts';
import { MessageLog } from '../services/message-log.ts';
import { createTokenCounter } from '../services/preprocess/token-count.ts';
import type { QueryEngineConfig } from './config.ts';
import { PromptQueue } from './prompt-queue.ts';
import { type Session, SessionToolState } from './session.ts';
import { sideTranscript } from './side-transcript.ts';
import { systemPrompt, userContext } from './system-prompt.ts';

/** Said to every agent after its own prompt. */
const MANNER =
  'Your caller gets your last message and nothing else: put into it all that was asked for, with ' +
  'what you did, what you checked and what is open. Nobody can answer questions: decide, and say so.';

export interface AgentPlace {
  readonly agent: AgentDefinition;
  /** The call that it works for. */
  readonly toolUseId: string;
  readonly model: string;
  /** From 1. */
  readonly depth: number;
}

/** @param caller whose tools, folder and money it shares. */
export function agentSession(caller: Session, place: AgentPlace): Session {
  const { agent, toolUseId, model, depth } = place;
  const config = agentConfig(caller.config, agent);
  const log = new MessageLog(toolUseId);
  const transcript = sideTranscript(caller.transcript, toolUseId);
  const tools = () => toolsOfAgent(caller.tools(), agent, depth);
  const checkpoints = createCheckpoints({
    folder: caller.historyFolder,
    tools,
    cwd: () => session.cwd,
    // Under its own name: a rewind of the session takes back what its agents have changed, too.
    note: (type, fields) => caller.transcript.note(type, fields),
  });
  const hookFields = { agent_id: toolUseId, agent_type: agent.name };
  const session: Session = {
    ...caller,
    config,
    log,
    transcript,
    tools,
    commands: () => [], // only people call them
    tokens: createTokenCounter({
      log,
      fixed: () => ({
        system: session.systemPrompt,
        tools: tools(),
        userContext: session.userContext,
      }),
    }),
    ledger: caller.ledger
      ? createLedger({ transcript, checkpoints, isBare: config.bare ?? false })
      : undefined,
    runHooks: Object.assign(
      ((event, fields, options) =>
        caller.runHooks(event, { ...fields, ...hookFields }, options)) as typeof caller.runHooks,
      { dispose: () => Promise.resolve() },
    ),
    // What the agent has read its caller has not.
    toolState: new SessionToolState(),
    collapses: new Map(),
    queue: new PromptQueue(),
    systemPrompt: systemPrompt({
      custom: agent.prompt,
      append: MANNER,
    }),
    userContext: userContext({
      cwd: caller.cwd,
      additionalDirectories: config.getAppState().toolPermissionContext.additionalDirectories,
      platform: process.platform,
      date: caller.now().toISOString().slice(0, 10),
      model,
      memory: config.memory ?? [],
    }),
    primaryModel: model,
    chosenModel: undefined,
    autoCompactTracking: undefined,
    lastRequest: undefined,
    notices: [],
    loadedNestedMemoryPaths: new Set(config.memoryPaths),
    discoveredSkillNames: new Set(),
    snipRequest: undefined,
    taskBudgetRemaining: undefined,
  };
  return session;
}

/** What concerns the turn of a person is not for an agent. */
function agentConfig(config: QueryEngineConfig, agent: AgentDefinition): QueryEngineConfig {
  const {
    resumed: _resumed,
    initialMessages: _initialMessages,
    jsonSchema: _jsonSchema,
    taskBudget: _taskBudget,
    tokenBudget: _tokenBudget,
    orphanedPermission: _orphanedPermission,
    historySnip: _historySnip,
    setSDKStatus: _setSDKStatus,
    snipReplay: _snipReplay,
    maxTurns: _maxTurns,
    replayUserMessages: _replayUserMessages,
    ...shared
  } = config;
  return {
    ...shared,
    // Its caller tells people what it was for; a line for each of its rounds is nobody's.
    gates: { ...config.gates, emitToolUseSummaries: false },
    ...(agent.maxTurns === undefined ? {} : { maxTurns: agent.maxTurns }),
  };
}
