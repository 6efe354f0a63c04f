/** From words on the command line to what is to be done. Touches no file and no network. */
import type { Options } from '../options.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
import {
  type Flags,
  helpText,
  ignoredOf,
  type OutputFormat,
  parseFlags,
  refuseFlags,
  settingSources,
} from './flags.ts';
import type { InspectRequest } from './watch-run.ts';

/** What the command line asks for. */
export type Invocation =
  /** One prompt, from the arguments and from stdin; the answer on stdout. */
  | {
      readonly kind: 'print';
      readonly prompt: string | undefined;
      readonly outputFormat: OutputFormat;
      /** A call that was denied makes the exit code 1, whatever the model made of it. */
      readonly failsOnDenial: boolean;
      readonly options: Options;
      readonly debug: boolean;
    }
  /** Prompts and control requests as JSON lines on stdin, messages as JSON lines on stdout. */
  | {
      readonly kind: 'headless';
      /** The host answers permission questions over the control channel. */
      readonly asksHost: boolean;
      readonly options: Options;
      readonly debug: boolean;
    }
  /** A person at a terminal; the prompt, if there is one, is the first of the session. */
  | {
      readonly kind: 'interactive';
      readonly prompt: string | undefined;
      readonly options: Options;
      readonly debug: boolean;
    }
  /** Help or version: text for stdout, exit 0. */
  | { readonly kind: 'text'; readonly text: string };

export interface ParsedArguments {
  readonly invocation: Invocation;
  /** Values of `--mcp-config`, still text: reading files is not the parser's business. */
  readonly mcpConfig: readonly string[];
  /** Flags that were understood and change nothing. */
  readonly ignored: readonly string[];
  /** An inspector beside the run. */
  readonly inspect?: InspectRequest;
}

/** What the parser must know of the process. */
export interface Terminal {
  readonly cwd: string;
  readonly stdinIsTTY: boolean;
  readonly stdoutIsTTY: boolean;
}

/** Options that are only there when their flag was given: an absent one is not `undefined`. */
function optionsOf(flags: Flags, cwd: string): Options {
  const bypass = flags.dangerouslySkipPermissions;
  const mode = bypass ? 'bypassPermissions' : flags.permissionMode;
  const sources = sourcesOf(flags);
  return {
    cwd,
    ...(flags.model !== undefined && { model: flags.model }),
    ...(flags.fallbackModel !== undefined && { fallbackModel: flags.fallbackModel }),
    ...(flags.systemPrompt !== undefined && { systemPrompt: flags.systemPrompt }),
    ...(flags.appendSystemPrompt !== undefined && { appendSystemPrompt: flags.appendSystemPrompt }),
    ...(flags.tools && { tools: toolsOf(flags.tools) }),
    ...(flags.allowedTools && { allowedTools: flags.allowedTools }),
    ...(flags.disallowedTools && { disallowedTools: flags.disallowedTools }),
    ...(mode !== undefined && { permissionMode: mode }),
    ...((bypass || flags.allowDangerouslySkipPermissions) && {
      allowDangerouslySkipPermissions: true,
    }),
    ...(flags.settings !== undefined && { settings: flags.settings }),
    ...(sources && { settingSources: sources }),
    ...(flags.addDir && { additionalDirectories: flags.addDir }),
    ...pluginsOf(flags),
    ...(flags.maxTurns !== undefined && { maxTurns: flags.maxTurns }),
    ...(flags.maxBudgetUsd !== undefined && { maxBudgetUsd: flags.maxBudgetUsd }),
    ...(flags.taskBudget !== undefined && { taskBudget: { total: flags.taskBudget } }),
    ...(flags.jsonSchema && { outputFormat: { type: 'json_schema', schema: flags.jsonSchema } }),
    ...(flags.thinking && { thinking: { type: flags.thinking } }),
    ...(flags.maxThinkingTokens !== undefined && { maxThinkingTokens: flags.maxThinkingTokens }),
    ...(flags.includePartialMessages && { includePartialMessages: true }),
    ...(flags.includeHookEvents && { includeHookEvents: true }),
    ...(flags.replayUserMessages && { replayUserMessages: true }),
    ...(flags.continue && { continue: true }),
    ...(flags.resume !== undefined && { resume: flags.resume }),
    ...(flags.resumeSessionAt !== undefined && { resumeSessionAt: flags.resumeSessionAt }),
    ...(flags.forkSession && { forkSession: true }),
    ...(flags.finishInterrupted && { finishInterrupted: true }),
    ...(flags.onUnknownOutcome && { onUnknownOutcome: flags.onUnknownOutcome }),
    ...(flags.sessionId !== undefined && { sessionId: flags.sessionId }),
    ...(flags.strictMcpConfig && { strictMcpConfig: true }),
    ...(!flags.sessionPersistence && { persistSession: false }),
    ...(flags.bare && { bare: true }),
    // Hosts of the protocol pass it always: there it says no more than that the stream is complete.
    ...(flags.verbose && !isStream(flags) && { verbose: true }),
  };
}

/** Which files may act. `--trust` is short for all; what is listed goes before it. */
export const sourcesOf = (flags: Flags): Options['settingSources'] =>
  flags.settingSources ?? (flags.trust ? settingSources : undefined);

export function pluginsOf({
  pluginDir = [],
  pluginDirNoMcp = [],
}: Flags): Pick<Options, 'plugins'> {
  const plugins = [
    ...pluginDir.map((path) => ({ type: 'local' as const, path })),
    ...pluginDirNoMcp.map((path) => ({ type: 'local' as const, path, skipMcpDiscovery: true })),
  ];
  return plugins.length > 0 ? { plugins } : {};
}

const isStream = ({ inputFormat, outputFormat }: Flags): boolean =>
  [inputFormat, outputFormat].includes('stream-json');

function toolsOf(names: readonly string[]): NonNullable<Options['tools']> {
  return names.length === 1 && names[0] === 'default'
    ? { type: 'preset', preset: 'claude_code' }
    : names;
}

/**
 * Reads the command line (without `node` and the script).
 * @throws UsageError for everything that cannot be understood.
 */
export function parseArguments(argv: readonly string[], terminal: Terminal): ParsedArguments {
  if (argv.includes('--version') || argv.includes('-v')) {
    return textOnly(`${VERSION} (Escapement)\n`);
  }
  if (argv.includes('--help') || argv.includes('-h')) {
    return textOnly(helpText());
  }
  const { flags, words } = parseFlags(argv);
  const inspect = inspectOf(flags);
  refuseFlags(flags);
  const mcpConfig = flags.mcpConfig ?? [];
  const ignored = ignoredOf(flags);
  const options = optionsOf(flags, terminal.cwd);
  const debug = flags.debug === true;
  const rest = { mcpConfig, ignored, ...(inspect ? { inspect } : {}) };
  const prompt = words.length > 0 ? words.join(' ') : undefined;
  if (flags.inputFormat === 'stream-json') {
    return { invocation: headlessOf(flags, prompt, options, debug), ...rest };
  }
  if (flags.permissionPromptTool !== undefined) {
    throw new UsageError('--permission-prompt-tool needs --input-format stream-json');
  }
  const isAtTerminal = terminal.stdinIsTTY && terminal.stdoutIsTTY;
  if (isAtTerminal && !flags.print && flags.outputFormat === undefined) {
    return { invocation: { kind: 'interactive', prompt, options, debug }, ...rest };
  }
  const outputFormat = flags.outputFormat ?? 'text';
  const failsOnDenial = flags.failOnDenial === true;
  const invocation: Invocation = {
    ...{ kind: 'print', prompt, outputFormat, failsOnDenial, options, debug },
  };
  return { invocation, ...rest };
}

function inspectOf({ inspect, ...flags }: Flags) {
  const { inspectControl, inspectSend, inspectCoverage, inspectOrigin } = flags;
  if (inspect === undefined) {
    const others = [inspectControl, inspectSend, inspectCoverage, inspectOrigin];
    if (others.every((value) => value === undefined)) return undefined;
    throw new UsageError(
      '--inspect-control, --inspect-send, --inspect-coverage and --inspect-origin need --inspect',
    );
  }
  return {
    ...{ port: inspect, hold: inspectControl === true, send: inspectSend === true },
    ...(inspectCoverage === undefined ? {} : { coverage: inspectCoverage }),
    ...(inspectOrigin === undefined ? {} : { origin: inspectOrigin }),
  } satisfies InspectRequest;
}

const textOnly = (text: string): ParsedArguments => ({
  invocation: { kind: 'text', text },
  mcpConfig: [],
  ignored: [],
});

function headlessOf(
  flags: Flags,
  prompt: string | undefined,
  options: Options,
  debug: boolean,
): Invocation {
  if (flags.outputFormat !== undefined && flags.outputFormat !== 'stream-json') {
    throw new UsageError('--input-format stream-json needs --output-format stream-json');
  }
  if (prompt !== undefined) {
    throw new UsageError(
      'with --input-format stream-json the prompt comes on stdin as a JSON line: remove it from the arguments',
    );
  }
  const tool = flags.permissionPromptTool;
  if (tool !== undefined && tool !== 'stdio') {
    throw new UsageError(
      `--permission-prompt-tool ${tool} is not supported: use stdio and answer can_use_tool`,
    );
  }
  return { kind: 'headless', asksHost: tool === 'stdio', options, debug };
}
