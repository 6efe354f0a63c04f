/** Options, settings and environment that become fields of the same meaning. Options win. */
import { defaultLimits } from '../machines/limits.ts';
import type { HandleElicitation } from '../services/mcp/elicitation.ts';
import type { ThinkingConfig } from '../services/model/types.ts';
import type { Gates, QueryEngineConfig } from './config.ts';
import { ourHooks } from './hook-events.ts';
import { refuseWhatIsLeftOut } from './left-out.ts';
import { headersMsFrom, modelAccess, modelNamed, numberFrom } from './model-access.ts';
import type { Options } from './option-types.ts';
import type { Settings } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** @throws UsageError where a bundle has nothing of what is asked for. */
export function fieldsOf(options: Options, settings: Settings, environment: Environment) {
  const { historySnip, tokenBudget } = options;
  refuseWhatIsLeftOut({ ...settings, ...defined({ historySnip, tokenBudget }) });
  return {
    ...spokenFields(options, settings),
    ...windowFields(options, settings, environment),
    gates: gatesFrom(settings),
    limits: limitsFrom(environment),
  };
}

/** Who answers, and how they are reached. @throws UsageError when there can be no such model. */
export function modelsOf(
  options: Options,
  settings: Settings,
  environment: Environment,
): Pick<QueryEngineConfig, 'model' | 'smallModel' | 'fallbackModel'> & {
  readonly userSpecifiedModel: string;
} {
  const model = modelAccess(options, { ...environment, ...options.env });
  const named = options.model ?? settings.model ?? environment.ANTHROPIC_MODEL;
  const { smallModel } = settings;
  const { fallbackModel } = options;
  return {
    model,
    userSpecifiedModel: modelNamed(named, model),
    ...(smallModel === undefined ? {} : { smallModel: modelNamed(smallModel, model) }),
    ...(fallbackModel === undefined ? {} : { fallbackModel: modelNamed(fallbackModel, model) }),
  };
}

/** Where the official SDK lets a cache end within a list of texts. It is no text for the model. */
const CACHE_BOUNDARY = '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__';

export const joinedPrompt = (texts: string | readonly string[]): string =>
  [texts]
    .flat()
    .filter((text) => text !== CACHE_BOUNDARY)
    .join('\n\n');

function promptOf(given: Options['systemPrompt']): { custom?: string; append?: string } {
  if (given === undefined) return {};
  if (typeof given === 'string' || isTexts(given)) return { custom: joinedPrompt(given) };
  if (given.type === 'custom') return { custom: joinedPrompt(given.prompt) };
  return given.append === undefined ? {} : { append: given.append };
}
const isTexts = (given: object): given is readonly string[] => Array.isArray(given);

function spokenFields(options: Options, settings: Settings) {
  const { custom, append } = promptOf(options.systemPrompt);
  return defined({
    abortController: options.abortController,
    appendSystemPrompt: options.appendSystemPrompt ?? append,
    bare: options.bare,
    canUseTool: options.canUseTool,
    customSystemPrompt: custom,
    handleElicitation: elicitationBy(options.onElicitation),
    hookCallbacks: options.hooks && ourHooks(options.hooks),
    includeHookEvents: options.includeHookEvents,
    includePartialMessages: options.includePartialMessages,
    jsonSchema: options.outputFormat?.schema,
    maxBudgetUsd: options.maxBudgetUsd,
    maxDurationMs: options.maxDurationMs ?? settings.maxDurationMs,
    maxOutputTokens: options.maxOutputTokens ?? settings.maxOutputTokens,
    maxTurns: options.maxTurns,
    persistSession: options.persistSession,
    replayUserMessages: options.replayUserMessages,
    journal: options.journal,
    onUnknownOutcome: options.onUnknownOutcome,
    orphanedPermission: options.orphanedPermission,
    sessionId: options.sessionId,
    setSDKStatus: options.onStatus,
    taskBudget: options.taskBudget,
    thinkingConfig: options.thinking ?? thinkingOf(options.maxThinkingTokens),
    tokenBudget: options.tokenBudget ?? settings.tokenBudget,
    verbose: options.verbose,
  });
}

const elicitationBy = (ask: Options['onElicitation']): HandleElicitation | undefined =>
  ask && ((question, signal) => ask(question, { signal }));

/** No tokens: no thinking. */
function thinkingOf(budgetTokens: number | undefined): ThinkingConfig | undefined {
  if (budgetTokens === undefined) return undefined;
  return budgetTokens > 0 ? { type: 'enabled', budgetTokens } : { type: 'disabled' };
}

const gatesFrom = (settings: Settings): Partial<Gates> =>
  defined({
    autocompact: settings.autoCompactEnabled,
    reactiveCompact: settings.reactiveCompactEnabled,
    cachedMicrocompact: settings.cachedMicrocompact,
    contextCollapse: settings.contextCollapse,
    emitToolUseSummaries: settings.emitToolUseSummaries,
  });

const limitsFrom = (environment: Environment) =>
  defined({
    requestMs: requestMsFor(headersMsFrom(environment)),
    retryBaseMs: numberFrom(environment, 'ESCAPEMENT_RETRY_BASE_MS'),
    retriesMax: numberFrom(environment, 'ESCAPEMENT_MAX_RETRIES'),
  });

/** The chart's own wait for the first word is longer than the service's: it is the last resort. */
const requestMsFor = (headersMs: number | undefined): number | undefined =>
  headersMs === undefined ? undefined : Math.max(defaultLimits.requestMs, headersMs + 30_000);

const windowFields = (options: Options, settings: Settings, environment: Environment) =>
  defined({
    autoCompactWindow:
      options.autoCompactWindow ??
      settings.autoCompactWindow ??
      (numberFrom(environment, 'ESCAPEMENT_AUTOCOMPACT_WINDOW') || undefined),
    historySnip: options.historySnip ?? settings.historySnip,
  });

/** Without the fields that nobody gave. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
