/** The flags: their names, how their values are read, and the help. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { PermissionMode } from '../../services/permissions/types.ts';
import { permissionModeNamed, permissionModes } from '../permission-modes.ts';
import type { SettingSource } from '../settings.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';

export type OutputFormat = 'text' | 'json' | 'stream-json';

export const settingSources: readonly SettingSource[] = ['user', 'project', 'local'];

/** Flags of the official SDK that cannot be obeyed: silence would be a lie. Flag → what to say. */
const refusedFlags: Readonly<Record<string, string>> = {
  agent: 'use --system-prompt and --tools for the main agent',
  channels: 'remove it',
  'managed-settings': 'an administrator puts them into a file: see docs/security.md',
  'project-config-root': 'start in that folder, or name its settings with --settings',
  'resume-drops-turn': 'use --resume-session-at',
  'session-mirror': 'the transcript is a file below ESCAPEMENT_HOME; read it there',
};
/** Hints of the official SDK that change nothing here; `--debug` tells that they were ignored. */
const ignoredFlags: readonly string[] = [
  'betas',
  'debug-file',
  'effort',
  'initialize-fields',
  'permission-prompts',
  'thinking-display',
  'workload',
];
const ignoredSwitches: readonly string[] = ['await-initialize', 'managed-settings-in-initialize'];

function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value <= 0) {
    throw new InvalidArgumentError('A number above 0 is needed.');
  }
  return value;
}
function wholeNumber(text: string): number {
  const value = positiveNumber(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('A whole number is needed.');
  return value;
}
export function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('A port is a number from 0 to 65535.');
}
function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`Not JSON: ${(error as Error).message}.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('A JSON object is needed.');
  }
  return value as Readonly<Record<string, unknown>>;
}
function siteName(text: string): string {
  if (!URL.canParse(text) || new URL(text).origin !== text) {
    throw new InvalidArgumentError('An origin is needed, and nothing more: https://stately.ai.');
  }
  return text;
}
/** `a,b` and `a b` and a flag twice are the same list; commas in `Bash(x,y)` belong to the rule. */
function toolList(text: string, before: readonly string[] = []): readonly string[] {
  const rules: string[] = [];
  let rule = '';
  let depth = 0;
  for (const character of `${text},`) {
    if (depth === 0 && /[,\s]/.test(character)) {
      if (rule !== '') rules.push(rule);
      rule = '';
      continue;
    }
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (depth < 0) break;
    rule += character;
  }
  // A rule that lost its end would read as the whole tool: `Bash(git log` must not become `Bash`.
  if (depth !== 0) throw new InvalidArgumentError(`A bracket is missing in "${text}".`);
  return [...before, ...rules];
}
function textList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
function sourceList(text: string): readonly SettingSource[] {
  const names = text.split(',').map((name) => name.trim());
  return names
    .filter((name) => name !== '')
    .map((name) => {
      const source = settingSources.find((known) => known === name);
      if (!source) throw new InvalidArgumentError(`Known sources: ${settingSources.join(', ')}.`);
      return source;
    });
}
function permissionMode(text: string): PermissionMode {
  const mode = permissionModeNamed(text);
  if (!mode) throw new InvalidArgumentError(`Known modes: ${permissionModes.join(', ')}.`);
  return mode;
}

/** Values as commander keeps them, by the camel-cased flag. */
export interface Flags {
  readonly print?: true;
  readonly outputFormat?: OutputFormat;
  readonly inputFormat?: 'text' | 'stream-json';
  readonly verbose?: true;
  readonly debug?: true;
  readonly model?: string;
  readonly fallbackModel?: string;
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  readonly tools?: readonly string[];
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly permissionMode?: PermissionMode;
  readonly allowDangerouslySkipPermissions?: true;
  readonly dangerouslySkipPermissions?: true;
  readonly permissionPromptTool?: string;
  readonly settings?: string;
  readonly settingSources?: readonly SettingSource[];
  readonly trust?: true;
  readonly failOnDenial?: true;
  readonly addDir?: readonly string[];
  readonly pluginDir?: readonly string[];
  readonly pluginDirNoMcp?: readonly string[];
  readonly mcpConfig?: readonly string[];
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly taskBudget?: number;
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
  readonly thinking?: 'adaptive' | 'disabled';
  readonly maxThinkingTokens?: number;
  readonly includePartialMessages?: true;
  readonly includeHookEvents?: true;
  readonly replayUserMessages?: true;
  readonly continue?: true;
  readonly resume?: string;
  readonly resumeSessionAt?: string;
  readonly forkSession?: true;
  readonly finishInterrupted?: true;
  readonly onUnknownOutcome?: 'tell_model' | 'run_again' | 'ask';
  readonly sessionId?: string;
  readonly strictMcpConfig?: boolean;
  /** `--no-session-persistence`. */
  readonly sessionPersistence: boolean;
  readonly bare?: true;
  /** Port; 0: any. */
  readonly inspect?: number;
  readonly inspectControl?: true;
  readonly inspectSend?: true;
  readonly inspectCoverage?: string;
  readonly inspectOrigin?: string;
}

/** The flags, in the order in which the help shows them. */
function makeCommand(): Command {
  const command = new Command('escapement')
    .description('The agent query engine as a statechart that you can see, test and embed.')
    .usage('[options] [prompt]')
    .argument('[prompt...]', 'what to do; piped text is added to it')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', helpAfter)
    .allowExcessArguments(true)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} });
  const add: Add = (flags, text, parse) => {
    const option = new Option(flags, text);
    command.addOption(parse ? option.argParser(parse as never) : option);
  };
  const choose: Choose = (flags, text, choices) =>
    void command.addOption(new Option(flags, text).choices(choices));
  add('-p, --print', 'answer one prompt and end');
  choose('--output-format <format>', 'of the answer', ['text', 'json', 'stream-json']);
  choose('--input-format <format>', 'stream-json: prompts as JSON lines', ['text', 'stream-json']);
  add('--model <model>', 'the model');
  add('--fallback-model <model>', 'takes over when the model is overloaded');
  add('--system-prompt <text>', 'instead of the default system prompt');
  add('--append-system-prompt <text>', 'after the system prompt');
  add('--tools <names...>', 'built-in tools to offer; empty: none', toolList);
  add('--allowedTools, --allowed-tools <rules...>', 'calls that need no question', toolList);
  add('--disallowedTools, --disallowed-tools <rules...>', 'calls that are refused', toolList);
  add('--permission-mode <mode>', permissionModes.join(' | '), permissionMode);
  add('--allow-dangerously-skip-permissions', 'lets a host switch to bypassPermissions');
  add('--dangerously-skip-permissions', 'run every call without a question');
  add('--permission-prompt-tool <name>', 'stdio: ask the host over the control channel');
  add('--settings <file-or-json>', 'more settings');
  add('--setting-sources <sources>', 'which settings files count: user,project,local', sourceList);
  add('--trust', "this folder's own hooks, rules and servers may act");
  add('--fail-on-denial', 'with -p: exit code 1 when a call was denied');
  add('--add-dir <folders...>', 'more folders that count as inside', textList);
  add('--plugin-dir <folders...>', 'plugins: they may act in this session', textList);
  add('--plugin-dir-no-mcp <folders...>', 'the same without their servers of tools', textList);
  add('--mcp-config <files-or-json...>', 'servers of tools', textList);
  add('--max-turns <count>', 'bound of model calls that continue the work', wholeNumber);
  add('--max-budget-usd <amount>', 'bound of what this process may cost', positiveNumber);
  add('--task-budget <tokens>', 'tokens that the model is told it may spend', wholeNumber);
  add('--json-schema <schema>', 'shape of the answer', jsonObject);
  choose('--thinking <mode>', 'adaptive | disabled', ['adaptive', 'disabled']);
  add('--max-thinking-tokens <tokens>', 'a fixed budget for thinking', wholeNumber);
  addSessionFlags(add, choose);
  for (const name of [...ignoredFlags, ...Object.keys(refusedFlags)]) {
    command.addOption(new Option(`--${name} <value>`).hideHelp());
  }
  for (const name of ignoredSwitches) command.addOption(new Option(`--${name}`).hideHelp());
  return command;
}

type Add = (flags: string, text: string, parse?: (text: string, before?: never) => unknown) => void;
type Choose = (flags: string, text: string, choices: readonly string[]) => void;

/** What is told of the work, which session it is, and who looks on. */
function addSessionFlags(add: Add, choose: Choose): void {
  add('--include-partial-messages', 'the deltas of answers, too');
  add('--include-hook-events', 'what hooks do, too');
  add('--replay-user-messages', 'prompts come back on the output');
  add('-c, --continue', 'go on with the newest session of this folder');
  add('-r, --resume <session>', 'go on with this session');
  add('--resume-session-at <uuid>', 'go on after this message of it');
  add('--fork-session', 'go on under a new session id');
  add('--finish-interrupted', 'first end the turn that a crash has interrupted');
  choose(
    '--on-unknown-outcome <what>',
    'a call that ran at a crash: the model is told, or it runs',
    ['tell_model', 'run_again', 'ask'],
  );
  add('--session-id <uuid>', 'the id of the new session');
  add('--strict-mcp-config', 'only the servers of --mcp-config, never a .mcp.json');
  add('--no-session-persistence', 'write no transcript');
  add('--bare', 'for scripts: no waiting for the disk, no memory files');
  add('--verbose', 'text: the turn on stderr; json: all messages; stream-json is always complete');
  add(
    '--inspect [port]',
    'a page on 127.0.0.1 that shows the run; its address is on stderr',
    portOf,
  );
  add('--inspect-control', 'the page may hold the run: breakpoints, steps');
  add('--inspect-send', 'the page may send events to the run');
  add('--inspect-coverage <file>', 'which transitions tests have taken: coverage/chart.json');
  add(
    '--inspect-origin <site>',
    'its pages may look on by @xstate/inspect: https://stately.ai',
    siteName,
  );
  add('-d, --debug', 'say on stderr what is ignored');
}

const helpAfter = `
Other commands:
  escapement demo ["prompt"]      without a key: a scripted model fixes a failing test in a scratch folder
  escapement inspect [session]    look at a session of this folder, or at a recording, step by step
  escapement doctor               is this machine, this folder, fit to work in?
  escapement mcp login <name>     a grant for a server of tools that wants one
  escapement mock-server          the scripted Messages API server, for your own tests

Exit codes: 0; 1 when the last result is an error; 2 for wrong usage; 130, 143, 129 after SIGINT,
SIGTERM, SIGHUP. Environment: ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL, and docs/environment.md.
`;

/** The help, without running anything. */
export const helpText = (): string => {
  const command = makeCommand();
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
};

/**
 * Reads flags and words.
 * @throws UsageError in one line.
 */
export function parseFlags(argv: readonly string[]): { flags: Flags; words: readonly string[] } {
  const command = makeCommand();
  try {
    // Without `=` the next word is the prompt, not the port.
    const words = argv.map((word) => (word === '--inspect' ? '--inspect=0' : word));
    command.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander's sentence begins with "error: " and may carry a suggestion on a second line.
    const cause = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
    throw new UsageError(`${cause}. See escapement --help`.replace(/([.)])\. See/, '$1 See'));
  }
  return { flags: command.opts<Flags>(), words: command.args };
}

/** Flags that are known and cannot be obeyed. */
export function refuseFlags(flags: Flags): void {
  for (const [name, remedy] of Object.entries(refusedFlags)) {
    if (isGiven(flags, name)) throw new UsageError(`--${name} is not supported: ${remedy}`);
  }
}

/** Flags that were understood and change nothing. */
export const ignoredOf = (flags: Flags): readonly string[] =>
  [...ignoredFlags, ...ignoredSwitches].filter((name) => isGiven(flags, name));

function isGiven(flags: Flags, name: string): boolean {
  const key = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return (flags as unknown as Readonly<Record<string, unknown>>)[key] !== undefined;
}
