/** The shell tools of a session: Bash, BashOutput, KillShell. */
import { defineTool, textOf } from '../define-tool.ts';
import { clipEnd } from '../process/clip.ts';
import { toolSchemas } from '../schemas.generated.ts';
import type { Tool, ToolInput } from '../tool.ts';
import type { BashOptions } from './bash-tool.ts';
import { shellLimits, timeoutOf } from './limits.ts';

export interface ShellToolsOptions extends BashOptions {
  /**
   * Does a command change nothing, whatever the state of the machine? *Must* say false when in
   * doubt: a yes lets it run beside others, and again after a crash.
   */
  readonly isReadOnlyCommand?: (command: string) => boolean;
}

/** A folder change would be seen, or not, by the calls that run beside it. */
const MOVES = /\b(?:cd|pushd|popd)\b/;

/** *Contract:* the state of the session must be disposed of, or what they started lives on. */
export const shellTools = (options: ShellToolsOptions = {}): readonly Tool[] => [
  bashTool(options),
  bashOutputTool,
  killShellTool,
];

const bashTool = (options: ShellToolsOptions): Tool => {
  const isReadOnly = (input: ToolInput) =>
    input.run_in_background !== true &&
    (options.isReadOnlyCommand?.(textOf(input, 'command')) ?? false);
  return defineTool({
    name: 'Bash',
    description:
      'Runs a command with bash and returns its output (stderr joined in) and exit code. Each ' +
      'call is a new shell: only the working folder is carried over. There is no terminal and ' +
      'stdin is empty, so give answers as options. Output above 30,000 characters is cut in the ' +
      'middle and saved to a file. The command and its children are ended at the timeout ' +
      '(default 120,000 ms). For servers, watchers and long work use run_in_background.',
    inputSchema: toolSchemas.Bash,
    isReadOnly,
    isConcurrencySafe: (input) => isReadOnly(input) && !MOVES.test(textOf(input, 'command')),
    touches: (input) => ({ kind: 'shell', command: textOf(input, 'command') }),
    deadlineMs: (input) =>
      input.run_in_background === true
        ? shellLimits.quickDeadlineMs
        : timeoutOf(input.timeout) + shellLimits.deadlineSlackMs,
    gist: (input) => firstLine(textOf(input, 'command')),
    load: async () => {
      const [{ bashInput: schema }, { runBash }] = await Promise.all([
        import('./inputs.ts'),
        import('./bash-tool.ts'),
      ]);
      return { schema, call: (input, context) => runBash(input, context, options) };
    },
  });
};

const bashOutputTool = defineTool({
  name: 'BashOutput',
  description:
    'Shows what a shell in the background has printed since the last look, and whether it ' +
    'still runs.',
  inputSchema: toolSchemas.BashOutput,
  isReadOnly: () => true,
  touches: () => ({ kind: 'nothing' }),
  deadlineMs: () => shellLimits.quickDeadlineMs,
  gist: (input) => textOf(input, 'bash_id'),
  load: async () => {
    const [{ bashOutputInput: schema }, { lookAtShell }] = await Promise.all([
      import('./inputs.ts'),
      import('./background-shell.ts'),
    ]);
    return { schema, call: async (input, context) => lookAtShell(input, context) };
  },
});

const killShellTool = defineTool({
  name: 'KillShell',
  description: 'Ends a shell in the background, with everything that it has started.',
  inputSchema: toolSchemas.KillShell,
  isReadOnly: () => false,
  touches: () => ({ kind: 'nothing' }),
  deadlineMs: () => shellLimits.quickDeadlineMs,
  gist: (input) => textOf(input, 'shell_id'),
  load: async () => {
    const [{ killShellInput: schema }, { killShell }] = await Promise.all([
      import('./inputs.ts'),
      import('./background-shell.ts'),
    ]);
    return { schema, call: killShell };
  },
});

/** For people. */
const firstLine = (command: string): string =>
  clipEnd(command.trim().split('\n', 1)[0] ?? '', shellLimits.gistChars);
