/**
 * The options of a host, looked at once at the door, before anything is read or begun. TypeScript
 * has done so for hosts that have it; what comes from a form, a file or `Number(…)` it has not seen.
 */
import { isRecord } from '../services/is-record.ts';
import {
  aFunction,
  anObject,
  type Check,
  either,
  expects,
  fieldsOf,
  guardedFieldsOf,
  isFunction,
  isList,
  isText,
  listOf,
  oneOf,
  optional,
  orUnbounded,
  positive,
  recordOf,
  shown,
  someText,
  text,
  wholeOrZero,
  wholePositive,
  yesOrNo,
} from './checks.ts';
import { hooksOf, neverCalled, strangeEvents } from './hook-events.ts';
import { nearMiss } from './near-miss.ts';
import type { Options } from './option-types.ts';
import { permissionModes } from './permission-modes.ts';
import { UsageError } from './usage-error.ts';

/** More than these are not read in one line. */
const PROBLEMS_MAX = 3;

const names = listOf('names', someText);
const hasMethods = (...methods: readonly string[]) => {
  const has = (value: unknown): boolean =>
    isRecord(value) && methods.every((method) => isFunction(value[method]));
  return has;
};

/** The official SDK has one mode more. It is no slip, and no mode of ours may stand in for it. */
export const permissionMode: Check = (value, place) =>
  value === 'auto'
    ? [
        `${place}: "auto" is not supported: nothing here judges calls in your place. ` +
          'Use "default" with allowedTools or canUseTool, or "acceptEdits"',
      ]
    : oneOf(...permissionModes)(value, place);

const matcher = guardedFieldsOf(
  { hooks: listOf('functions', aFunction) },
  { matcher: text, timeout: positive, onFailure: oneOf('continue', 'block') },
);
/** Of agents elsewhere. They change nothing here, and are near to `tools` and `model` by chance. */
const foreignAgentFields: readonly string[] = ['hooks', 'mode'];
/** An agent without its name. */
export const agent = guardedFieldsOf(
  { description: someText, prompt: someText },
  { tools: names, disallowedTools: names, model: someText, maxTurns: wholePositive },
  foreignAgentFields,
);
const connection = fieldsOf(
  {
    name: someText,
    status: oneOf('connected', 'failed', 'pending', 'needs-auth', 'disabled'),
    tools: listOf('tools', anObject),
    close: aFunction,
  },
  { connect: aFunction, reconnect: aFunction, listen: aFunction, answerBy: aFunction },
);
/** What a value is to be that may be one of two kinds, for one that is neither. */
const orElse =
  (words: string, check: Check): Check =>
  (value, place) =>
    isRecord(value) ? check(value, place) : expects(words, isRecord)(value, place);
const preset = { type: oneOf('preset'), preset: someText };
const textOrTexts = either(isText, text, listOf('texts', text));
const isCustom = (value: unknown): boolean => isRecord(value) && value.type === 'custom';
const presetOrCustom = either(
  isCustom,
  fieldsOf({ prompt: textOrTexts }),
  fieldsOf({ ...preset, type: oneOf('preset', 'custom') }, { append: text }),
);
const thinking: Check = (value, place) => [
  ...fieldsOf({ type: oneOf('adaptive', 'enabled', 'disabled') })(value, place),
  ...(isRecord(value) && value.type === 'enabled'
    ? optional(wholePositive)(value.budgetTokens, `${place}.budgetTokens`)
    : []),
];
const canAbort = (value: unknown): boolean =>
  isRecord(value) && value.signal instanceof AbortSignal && isFunction(value.abort);

/** Of each option, what it must be. Complete by its type: an option without a check is an error. */
const optionChecks: { readonly [Name in keyof Options]-?: Check } = {
  abortController: expects('an AbortController', canAbort),
  additionalDirectories: listOf('folders', someText),
  agents: recordOf('agents', agent),
  allowedTools: listOf('rules', someText),
  disallowedTools: listOf('rules', someText),
  tools: either(isList, names, orElse('a list of names, or the preset', fieldsOf(preset))),
  canUseTool: aFunction,
  continue: yesOrNo,
  cwd: someText,
  env: recordOf('texts', optional(text)),
  fallbackModel: someText,
  forkSession: yesOrNo,
  hooks: hooksOf(matcher),
  includeHookEvents: yesOrNo,
  includePartialMessages: yesOrNo,
  maxBudgetUsd: orUnbounded(positive),
  maxThinkingTokens: wholeOrZero,
  maxTurns: orUnbounded(wholePositive),
  mcpClients: listOf('connections', connection),
  // Each of them is read, and judged in better words, by services/mcp/server-config.ts.
  mcpServers: recordOf('servers', () => []),
  strictMcpConfig: yesOrNo,
  onElicitation: aFunction,
  stderr: aFunction,
  model: someText,
  outputFormat: fieldsOf({ type: oneOf('json_schema'), schema: anObject }),
  permissionMode,
  plugins: listOf(
    'plugins',
    fieldsOf({ type: oneOf('local'), path: someText }, { skipMcpDiscovery: yesOrNo }),
  ),
  allowDangerouslySkipPermissions: yesOrNo,
  persistSession: yesOrNo,
  replayUserMessages: yesOrNo,
  resume: someText,
  resumeSessionAt: someText,
  sessionId: someText,
  settingSources: listOf('sources', oneOf('user', 'project', 'local')),
  settings: either(isText, someText, orElse('a path, a JSON text or an object', anObject)),
  systemPrompt: either(
    (value) => isText(value) || isList(value),
    textOrTexts,
    orElse('a text, or the preset', presetOrCustom),
  ),
  appendSystemPrompt: text,
  taskBudget: fieldsOf({ total: wholePositive }),
  thinking,
  verbose: yesOrNo,
  customTools: listOf('tools', anObject),
  client: expects(
    'a client with messages.create()',
    (value) => isRecord(value) && hasMethods('create')(value.messages),
  ),
  fetch: aFunction,
  defaultHeaders: recordOf('texts', text),
  maxDurationMs: orUnbounded(wholePositive),
  tokenBudget: wholePositive,
  maxOutputTokens: wholePositive,
  autoCompactWindow: wholePositive,
  historySnip: fieldsOf({ maxMessages: wholePositive }),
  webFetchInsideHosts: listOf('hosts', someText),
  bare: yesOrNo,
  onStatus: aFunction,
  journal: expects(
    'a store of sessions: open, readBack, first, list, delete',
    hasMethods('open', 'readBack', 'first', 'list', 'delete'),
  ),
  onUnknownOutcome: either(isFunction, aFunction, oneOf('tell_model', 'run_again', 'ask')),
  orphanedPermission: fieldsOf({
    toolUseId: someText,
    decision: fieldsOf({ behavior: oneOf('allow', 'deny') }),
  }),
  finishInterrupted: yesOrNo,
};

/**
 * Options of the official SDK that guard or lead something and that we cannot obey: to run without
 * a word would be a lie. Name → what to say.
 */
export const refusedOptions: Readonly<Record<string, string>> = {
  agent: 'use systemPrompt and tools for the main agent',
  extraArgs: 'there is no command line here: use the option of that name',
  managedSettings: 'an administrator puts them into a file: see docs/security.md',
  permissionPromptToolName: 'use canUseTool',
  projectConfigRoot: 'name its settings with the option settings',
  resumeDropsTurn: 'use resumeSessionAt',
  sandbox: 'use settings: { sandbox: … }',
  sessionStore: 'use journal',
};

const isNothing = (value: unknown): boolean =>
  value === null || (isRecord(value) && Object.keys(value).length === 0);
/** Hosts that build their options from a form give these without asking for anything. */
const asksForNothing: Readonly<Record<string, (value: unknown) => boolean>> = {
  extraArgs: isNothing,
  sandbox: (value) => isNothing(value) || (isRecord(value) && value.enabled === false),
};

/** Hints of the official SDK that change nothing here. The first turn tells which were given. */
export const ignoredOptions: readonly string[] = [
  ...['agentProgressSummaries', 'betas', 'debug', 'debugFile', 'effort'],
  ...['enableFileCheckpointing', 'executable', 'executableArgs', 'forwardSubagentText'],
  ...['loadTimeoutMs', 'mcpServersDelivery', 'onUserDialog', 'pathToClaudeCodeExecutable'],
  ...['perTaskStopAffordance', 'permissionPrompts', 'planModeInstructions', 'pluginDelivery'],
  ...['promptSuggestions', 'sessionStoreFlush', 'skills', 'spawnClaudeCodeProcess'],
  ...['supportedDialogKinds', 'title', 'toolAliases', 'toolConfig', 'verbatimPrompts'],
];

/**
 * @returns what the host should know of its options, for people.
 * @throws UsageError naming the option, the value and what is expected.
 */
export function checkOptions(options: unknown): readonly string[] {
  if (!isRecord(options))
    throw new UsageError(`options: expected an object, not ${shown(options)}`);
  const given = Object.entries(options).flatMap(([name, value]) => {
    const isIdle = Object.hasOwn(asksForNothing, name) && asksForNothing[name]?.(value) === true;
    return value === undefined || isIdle ? [] : [name];
  });
  const strange = given.filter((name) => !Object.hasOwn(optionChecks, name));
  refuse([
    ...Object.entries(optionChecks).flatMap(([name, check]) =>
      optional(check)(options[name], name),
    ),
    ...strange.filter((name) => !ignoredOptions.includes(name)).map(unknownOption),
  ]);
  const silent = strangeEvents(options.hooks).map(neverCalled);
  if (strange.length === 0) return silent;
  return [`options that change nothing here: ${strange.join(', ')} (docs/options.md)`, ...silent];
}

function unknownOption(name: string): string {
  const remedy = Object.hasOwn(refusedOptions, name) ? refusedOptions[name] : undefined;
  if (remedy !== undefined) return `the option ${name} is not supported: ${remedy}`;
  const meant = nearMiss(name, Object.keys(optionChecks));
  return meant === undefined
    ? `there is no option ${JSON.stringify(name)}: remove it, or see docs/options.md`
    : `there is no option ${JSON.stringify(name)}: did you mean ${JSON.stringify(meant)}?`;
}

/**
 * One value that a host gives later than its options: a mode, a model.
 * @throws UsageError
 */
export function checkValue(check: Check, value: unknown, name: string): void {
  refuse(check(value, name));
}

/** A model by its name; `undefined`: the default again. */
export const modelName = optional(someText);

/**
 * The prompt of `query()`, and each of several. What is said in it is judged by the turn.
 * @throws UsageError
 */
export function checkPrompt(prompt: unknown): void {
  const isStream = (value: unknown) =>
    value !== null && typeof value === 'object' && Symbol.asyncIterator in value;
  refuse(
    expects(
      'a text, or an async iterable of user messages',
      (value) => isText(value) || isStream(value),
    )(prompt, 'prompt'),
  );
}

/** @throws UsageError */
export function checkUserPrompt(prompt: unknown): void {
  const content = either(isText, text, listOf('blocks', anObject));
  const words = 'a user message {type: "user", message: {role: "user", content}}';
  refuse(
    isRecord(prompt) && isRecord(prompt.message)
      ? content(prompt.message.content, 'prompt: message.content')
      : [`prompt: expected ${words}, not ${shown(prompt)}`],
  );
}

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const more = problems.length - PROBLEMS_MAX;
  const said = problems.slice(0, PROBLEMS_MAX).join('; ');
  throw new UsageError(more > 0 ? `${said}; and ${more} more` : said);
}
