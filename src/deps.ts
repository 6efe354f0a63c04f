/**
 * What a query needs from outside, in one replaceable value. Tests and hosts give some of it
 * themselves; the rest is the real thing.
 */
import type { DescribeCommand, QueryEvent, ToolCommand } from '../machines/events.ts';
import type { QueryState } from '../machines/state.ts';
import type { Ask, Line } from '../services/as-actor.ts';
import { CONTEXT_COLLAPSE } from '../services/features.ts';
import { modelFacts } from '../services/model/model-table.ts';
import type { CallModel } from '../services/model/types.ts';
import { orAborted } from '../services/or-aborted.ts';
import { createReadGuard, hiddenPlaces } from '../services/permissions/read-guard.ts';
import { suggestionsFor } from '../services/permissions/suggestions.ts';
import { applyUpdates } from '../services/permissions/updates.ts';
import { pass } from '../services/preprocess/stage.ts';
import { drainNothing } from '../services/recovery/drain-collapses.ts';
import { amended, StreamingToolExecutor } from '../services/tools/executor/index.ts';
import type { ToolContext } from '../services/tools/tool.ts';
import type { QueryConfig } from './config.ts';
import { contextCollapse } from './context-collapse.ts';
import { userHomeOf } from './home-folders.ts';
import { ownFolder } from './own-folder.ts';
import type { Clock } from './query-hold.ts';
import { modelLimits } from './query-limits.ts';
import type { QueryScope } from './query-scope.ts';
import { afterDescription, roundDescriber } from './round-describer.ts';
import type { SessionServices } from './session-services.ts';
import { STRUCTURED_OUTPUT, structuredValue } from './structured-output.ts';

type Answer<T extends Parameters<Line<{ type: string }>['send']>[0]['type']> = Extract<
  Parameters<Line<{ type: string }>['send']>[0],
  { type: T }
>;

export interface QueryDeps {
  readonly callModel: CallModel;
  readonly toolResultBudget: Ask<Answer<'stage.done'>>;
  readonly snip: Ask<Answer<'stage.done'>>;
  readonly microcompact: Ask<Answer<'stage.done'>>;
  readonly collapse: Ask<Answer<'stage.done'>>;
  readonly autocompact: Ask<Answer<'stage.done'>>;
  readonly legalize: Ask<Answer<'stage.done'>>;
  readonly drainCollapses: Ask<Answer<'collapse.drained' | 'collapse.empty'>>;
  readonly stripMedia: Ask<Answer<'media.stripped' | 'media.absent'>>;
  readonly reactiveCompact: Ask<Answer<'compact.done' | 'compact.failed'>>;
  readonly switchModel: Ask<Answer<'model.switched'>>;
  readonly attachments: Ask<Answer<'attachments.ready'>>;
  readonly stopHooks: Ask<Answer<'hooks.passed' | 'hooks.blocked' | 'hooks.prevented'>>;
  /** These live as long as the query. */
  readonly toolExecutor: (line: Line<ToolCommand>) => Promise<void>;
  readonly roundDescriber: (line: Line<DescribeCommand>) => Promise<void>;
  readonly uuid: () => string;
  readonly now: () => Date;
  /** What the chart's deadlines and waits are measured by. Default: the time on the wall. */
  readonly clock?: Clock;
}

/** The real functions, for one query. A stage whose gate is closed passes everything on. */
export function productionDeps(
  scope: QueryScope,
  config: QueryConfig,
  services: SessionServices,
): QueryDeps {
  const { gates } = config;
  const { session } = scope;
  scope.gates = gates;
  const collapsing =
    CONTEXT_COLLAPSE && gates.contextCollapse ? contextCollapse(session, services) : undefined;
  const describer = gates.emitToolUseSummaries ? roundDescriber(scope, services) : undefined;
  return {
    callModel: services.callModel,
    toolResultBudget: withPrefetch(
      services,
      withSpending(scope, gates.toolResultBudget ? services.toolResultBudget : pass),
    ),
    snip: services.snip,
    microcompact: gates.microcompact ? services.microcompact : pass,
    collapse: collapsing?.collapse ?? pass,
    autocompact: gates.autocompact ? services.autocompact : pass,
    legalize: withSpending(scope, services.legalize),
    drainCollapses: collapsing?.drain ?? drainNothing,
    stripMedia: services.stripMedia,
    reactiveCompact: gates.reactiveCompact
      ? services.reactiveCompact
      : async () => ({ type: 'compact.failed', usd: 0 }),
    switchModel: async (state) => switchModel(state, scope),
    attachments: describer
      ? afterDescription(describer, services.attachments)
      : services.attachments,
    stopHooks: services.stopHooks,
    toolExecutor: (line) => runTools(line, scope, config, services),
    roundDescriber: describer ? describer.talk : async () => {},
    uuid: session.uuid,
    now: session.now,
  };
}

/** With the first stage begins the look for what is to be read with the next round. */
const withPrefetch =
  (
    { prefetch }: SessionServices,
    stage: QueryDeps['toolResultBudget'],
  ): QueryDeps['toolResultBudget'] =>
  (state, signal) => {
    prefetch();
    return stage(state, signal);
  };

/**
 * The first and the last stage tell the chart what was really spent: agents spend beside it, and a
 * stream or a summary that it hung up on is billed all the same.
 */
const withSpending =
  (
    { session, turn }: QueryScope,
    stage: QueryDeps['toolResultBudget'],
  ): QueryDeps['toolResultBudget'] =>
  async (state, signal) => {
    const done = await stage(state, signal);
    return { ...done, spentUsd: session.spending.usd, outputTokens: turn.outputTokens };
  };

/** The fallback model has another window and another price. */
function switchModel(state: QueryState, scope: QueryScope): Answer<'model.switched'> {
  const model = state.fallbackModel ?? state.model;
  return {
    type: 'model.switched',
    model,
    limits: modelLimits(scope.session.config, modelFacts(model)),
  };
}

/** From the begin of a query to its end, which tells what still runs to stop. */
async function runTools(
  line: Line<ToolCommand>,
  scope: QueryScope,
  config: QueryConfig,
  services: SessionServices,
): Promise<void> {
  const { session, turn } = scope;
  scope.tellChart = (event) => {
    line.send(event);
    if (event.type === 'tool.result') services.prefetch(); // the work may have come to a new place
    scope.passQuestion(event);
  };
  const executor = toolExecutor(scope, config, services, scope.tellChart);
  scope.executor = executor;
  line.onCommand((command) => executor.hear(command));
  try {
    await orAborted(executor.broken(), line.signal);
  } finally {
    const [deferred] = executor.deferred;
    if (deferred) turn.deferred = deferred;
    // Not waited for here: a tool that ignores its signal must not hold the result back.
    session.stopping.push(executor.stop());
    // For their last words: what an agent's stream has used belongs to this turn's result.
    await Promise.allSettled(scope.delegated);
  }
}

/** The executor of a query, or of calls that an earlier one has left open. */
export function toolExecutor(
  scope: QueryScope,
  config: QueryConfig,
  services: SessionServices,
  send: (event: QueryEvent) => void,
): StreamingToolExecutor {
  const { session, turn } = scope;
  const { getAppState } = session.config;
  const { canUseTool } = scope;
  return new StreamingToolExecutor(
    {
      tools: session.tools,
      judge: services.judge,
      ...(canUseTool ? { canUseTool } : {}),
      runHooks: session.runHooks,
      log: session.log,
      uuid: session.uuid,
      now: () => session.now().getTime(),
      makeContext: (id, signal, given) => toolContext(scope, id, signal, given),
      permissionContext: () => getAppState().toolPermissionContext,
      cwd: () => session.cwd,
      suggest: (tool, input) =>
        suggestionsFor(tool, input, { cwd: session.cwd, home: userHomeOf(session.config.env) }),
      onPermissionUpdates: (updates) => update(scope, updates),
      onDenied: (denial) => scope.onDenied(denial),
      onPermitted: (name, because) => scope.explain(`${name} may run: ${because}`),
      onInterrupt: () => scope.interrupt(),
      onWarning: (text) => scope.warn(text),
      onProgress: (tool_use_id, tool_name, elapsed, gist) =>
        scope.queue.push({
          type: 'tool_progress',
          tool_use_id,
          tool_name,
          parent_tool_use_id: null,
          elapsed_time_seconds: elapsed,
          gist,
          uuid: session.uuid(),
          session_id: session.id,
        }),
      amendToolUse: (uuid, input) => {
        const message = amended(session.log.get(uuid), input);
        session.log.amend(message);
        session.transcript.amend(message);
      },
      ...(session.ledger ? { ledger: session.ledger } : {}),
      streaming: config.gates.streamingToolExecution,
      ...(session.config.jsonSchema === undefined
        ? {}
        : {
            structuredOutput: {
              toolName: STRUCTURED_OUTPUT,
              onValue: (value) => {
                turn.structuredOutput = structuredValue(session.config.jsonSchema ?? {}, value);
              },
            },
          }),
    },
    send,
  );
}

/**
 * What a person allowed for more than one call. It counts for the session at once, and is kept in
 * the settings file that the answer names.
 */
function update(scope: QueryScope, updates: readonly unknown[]): void {
  const { config, stopping } = scope.session;
  config.setAppState((previous) => {
    const { context, problems, lasting } = applyUpdates(previous.toolPermissionContext, updates);
    for (const problem of problems) scope.warn(`A permission update was not made: ${problem}`);
    if (lasting.length > 0 && config.savePermissions) {
      const saving = config.savePermissions(lasting).then((unsaved) => {
        for (const problem of unsaved)
          scope.warn(`A permission holds for this session: ${problem}`);
      });
      stopping.push(saving);
    }
    return { ...previous, toolPermissionContext: context };
  });
}

function toolContext(
  { session, agents }: QueryScope,
  toolUseId: string,
  signal: AbortSignal,
  given: Pick<ToolContext, 'progress' | 'whilePersonIsAsked'>,
): ToolContext {
  const { id, config, folder, toolState } = session;
  const { toolPermissionContext } = config.getAppState();
  const place = { home: userHomeOf(config.env), root: config.cwd, own: ownFolder(config.home) };
  const mayRead = createReadGuard(toolPermissionContext, session.cwd, place);
  const sandbox = config.sandbox && {
    ...config.sandbox,
    writable: [...config.sandbox.writable, ...toolPermissionContext.additionalDirectories],
    hidden: [...config.sandbox.hidden, ...hiddenPlaces(toolPermissionContext, place)],
  };
  return {
    sessionId: id,
    toolUseId,
    idempotencyKey: `${id}:${toolUseId}`,
    cwd: session.cwd,
    setCwd: (cwd) => {
      session.cwd = cwd;
    },
    additionalDirectories: toolPermissionContext.additionalDirectories,
    ...(mayRead ? { mayRead } : {}),
    ...(sandbox ? { sandbox } : {}),
    resultsFolder: folder,
    signal,
    env: config.env,
    state: toolState,
    ...given,
    ...(agents ? { agents } : {}),
  };
}
