/** Says to the model what became of a command: first its output, then what happened. Pure. */
import { constants } from 'node:os';
import type { BoundedResult } from '../process/bounded-text.ts';
import type { ProcessEntry } from '../process/process-table.ts';
import { SAVED_BYTES_MAX, type Saved } from '../process/saved-output.ts';
import type { GroupEnd } from '../process/spawn-group.ts';
import type { ToolOutput } from '../tool.ts';
import { shellLimits } from './limits.ts';

export interface CommandRun {
  readonly end: GroupEnd;
  readonly output: BoundedResult;
  readonly saved: Saved;
  readonly timeoutMs: number;
  /** Folder of the session after it. */
  readonly cwd: string;
  readonly folderNote: string | undefined;
  /** Why it came to its deadline, perhaps. */
  readonly hint: string | undefined;
  readonly leftovers: readonly ProcessEntry[];
  /** The shell by which the leftovers can be watched. */
  readonly shellId: string | undefined;
}

export const describeRun = (run: CommandRun): ToolOutput => {
  const output = joinOutput(run.output, run.saved);
  const notes = [endNote(run), leftoverNote(run), run.folderNote].filter((note) => note);
  const { end } = run;
  return {
    content: [output, ...notes].filter((text) => text).join('\n\n'),
    isError: !(end.how === 'exited' && end.code === 0),
    data: {
      stdout: output,
      stderr: '', // in stdout, in the order of printing
      interrupted: end.how === 'timedOut' || end.how === 'aborted',
      exitCode: end.how === 'exited' ? end.code : null,
      ended: end.how,
      outputBytes: run.output.totalBytes,
      droppedBytes: run.output.droppedBytes,
      savedTo: run.saved.kind === 'file' ? run.saved.path : null,
      cwd: run.cwd,
      backgroundPids: run.leftovers.map(({ pid }) => pid),
      shellId: run.shellId ?? null,
    },
  };
};

/** What was printed, the gap in the middle told. Nothing but white space counts as nothing. */
export const joinOutput = (output: BoundedResult, saved: Saved): string => {
  if (output.tail === '') {
    return output.head.trim() === '' ? '' : output.head.replace(/\n+$/, '');
  }
  const missing = `${output.droppedBytes} of ${output.totalBytes} bytes left out`;
  const gap = `[… ${missing}${whereSaved(saved)} …]`;
  return `${output.head}\n\n${gap}\n\n${output.tail.replace(/\n+$/, '')}`;
};

const whereSaved = (saved: Saved): string => {
  switch (saved.kind) {
    case 'none':
      return '';
    case 'failed':
      return `; they could not be saved: ${saved.detail}`;
    case 'file':
      return saved.isWhole
        ? `; all of it is in ${saved.path}`
        : `; the first ${SAVED_BYTES_MAX / 1024 / 1024} MB are in ${saved.path}`;
  }
};

const endNote = ({ end, timeoutMs, hint }: CommandRun): string => {
  switch (end.how) {
    case 'exited':
      return end.code === 0 ? '' : `Exit code ${end.code}${signalOf(end.code)}`;
    case 'signalled':
      return `Ended by signal ${end.signal}`;
    case 'timedOut':
      return [
        `Timed out after ${timeoutMs} ms; the command and its children were ended.`,
        hint ?? 'Longer work: a larger timeout (at most 600000), or run_in_background.',
      ].join(' ');
    case 'aborted':
      return 'Stopped: the call was aborted; the command and its children were ended.';
    case 'failed':
      return `The command could not be started: ${end.detail}`;
  }
};

/** bash says 128 + n for a child that signal n has ended. */
const signalOf = (code: number): string => {
  const name = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return code > 128 && name !== undefined ? ` (${name})` : '';
};

const leftoverNote = ({ leftovers, shellId }: CommandRun): string => {
  if (leftovers.length === 0) return '';
  const named = leftovers
    .slice(0, shellLimits.namedProcessesMax)
    .map(({ pid, name }) => `pid ${pid} (${name})`);
  const more = leftovers.length - named.length;
  const list = named.join(', ') + (more > 0 ? ` and ${more} more` : '');
  const watch =
    shellId === undefined
      ? ''
      : ` As shell ${shellId} it can be watched with BashOutput and ended with KillShell.`;
  return `Still running in the background: ${list}.${watch} It ends with the session.`;
};
