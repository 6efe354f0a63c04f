/** BashOutput and KillShell: the shells that run beside the conversation. */
import type { z } from 'zod';
import { boundedExpression } from '../process/bounded-expression.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { joinOutput } from './bash-result.ts';
import type { bashOutputInput, killShellInput } from './inputs.ts';
import { shellLimits } from './limits.ts';
import {
  type BackgroundShell,
  isRunning,
  type ShellSession,
  shellSessionOf,
} from './shell-session.ts';

/** What it has printed since the last look, and how it is. */
export const lookAtShell = (
  input: z.output<typeof bashOutputInput>,
  context: ToolContext,
): ToolOutput => {
  const session = shellSessionOf(context.state, context.cwd);
  const shell = session.find(input.bash_id);
  if (!shell) return unknownShell(input.bash_id, session);
  const filter = input.filter === undefined ? undefined : boundedExpression(input.filter);
  if (filter?.ok === false) {
    return { content: `The filter is no regular expression: ${filter.message}`, isError: true };
  }
  const status = statusOf(shell);
  if (status.name !== 'running') shell.unread.end();
  const fresh = joinOutput(shell.unread.take(), { kind: 'none' });
  const text = filter ? filter.filter(fresh.split('\n'))?.join('\n') : fresh;
  if (text === undefined) {
    return {
      content: 'The filter takes too long on this output; use a simpler one.',
      isError: true,
    };
  }
  return {
    content: [text, `Status: ${status.text}`].filter((part) => part).join('\n\n'),
    data: { shellId: shell.id, status: status.name, exitCode: status.exitCode, stdout: text },
  };
};

/** Ends it and everything that it has started. */
export const killShell = async (
  input: z.output<typeof killShellInput>,
  context: ToolContext,
): Promise<ToolOutput> => {
  const session = shellSessionOf(context.state, context.cwd);
  const shell = session.find(input.shell_id);
  if (!shell) return unknownShell(input.shell_id, session);
  if (!isRunning(shell)) {
    return { content: `Shell ${shell.id} has ended already: ${statusOf(shell).text}` };
  }
  await shell.group.stop(shellLimits.killGraceMs);
  const left = shell.group.leftovers();
  if (left.length > 0) {
    const pids = left.map(({ pid }) => pid).join(', ');
    return { content: `Shell ${shell.id} could not be ended: pid ${pids} lives on`, isError: true };
  }
  shell.wasKilled = true;
  shell.group.release();
  return { content: `Shell ${shell.id} was ended: ${shell.command}` };
};

const unknownShell = (id: string, session: ShellSession): ToolOutput => ({
  content:
    session.ids.length === 0
      ? `There is no shell ${id}; none was started in the background.`
      : `There is no shell ${id}. Known: ${session.ids.join(', ')}`,
  isError: true,
});

interface Status {
  readonly name: 'running' | 'completed' | 'failed' | 'killed';
  readonly text: string;
  readonly exitCode: number | null;
}

const statusOf = (shell: BackgroundShell): Status => {
  if (isRunning(shell)) return { name: 'running', text: 'running', exitCode: null };
  if (shell.wasKilled) return { name: 'killed', text: 'ended by KillShell', exitCode: null };
  const { end } = shell;
  switch (end?.how) {
    case undefined:
      return { name: 'running', text: 'running', exitCode: null };
    case 'exited': {
      const text = `ended with exit code ${end.code}`;
      return { name: end.code === 0 ? 'completed' : 'failed', text, exitCode: end.code };
    }
    case 'signalled':
      return { name: 'failed', text: `ended by signal ${end.signal}`, exitCode: null };
    case 'failed':
      return { name: 'failed', text: `could not be started: ${end.detail}`, exitCode: null };
    case 'timedOut':
    case 'aborted':
      return { name: 'killed', text: 'was ended', exitCode: null };
  }
};
