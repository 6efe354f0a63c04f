/** Bash: runs a command in a shell of its own. */
import type { z } from 'zod';
import type { Launch } from '../../sandbox/sandbox.ts';
import { BoundedText } from '../process/bounded-text.ts';
import { clipStart } from '../process/clip.ts';
import { SavedOutput } from '../process/saved-output.ts';
import type { ProcessGroup } from '../process/spawn-group.ts';
import { isFolder, isSameFolder, workingFolder } from '../process/working-folder.ts';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { describeRun } from './bash-result.ts';
import type { bashInput } from './inputs.ts';
import { launchOf } from './launch.ts';
import { shellLimits, timeoutOf } from './limits.ts';
import { shellEnvironment } from './shell-environment.ts';
import { FolderReport } from './shell-script.ts';
import { type BackgroundShell, type ShellSession, shellSessionOf } from './shell-session.ts';
import { deadlineHint } from './wants-person.ts';

type BashInput = z.output<typeof bashInput>;

/** What differs between hosts. */
export interface BashOptions {
  /** Wins over the environment of the process: the `env` of the settings. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where a session goes whose folder is gone. Without it: the folder of the first command. */
  readonly projectRoot?: string;
}

const HAS_NUL =
  'The command was not run: it contains a NUL character, which no command line can have. ' +
  "Write it as an escape (printf '\\\\0'), or put the bytes into a file.";

/** *Contract:* whatever a command does is an output; nothing is thrown. */
export const runBash = async (
  input: BashInput,
  context: ToolContext,
  options: BashOptions,
): Promise<ToolOutput> => {
  if (input.command.includes('\0')) return { content: HAS_NUL, isError: true };
  const session = shellSessionOf(context.state, context.cwd);
  const folder = await workingFolder(context.cwd, options.projectRoot ?? session.firstCwd);
  if (!folder.ok) return { content: folder.message, isError: true };
  if (folder.note) context.setCwd(folder.path);
  const launch = await launchOf(input.command, folder.path, context);
  if (!launch.ok) return { content: launch.message, isError: true };
  const place: Place = {
    ...launch.launch,
    cwd: folder.path,
    note: folder.note,
    env: shellEnvironment(context.env, options.env ?? {}, folder.path),
  };
  return input.run_in_background
    ? startInBackground(input, session, place)
    : runToItsEnd(input, context, session, place);
};

interface Place extends Launch {
  readonly cwd: string;
  readonly note: string | undefined;
  readonly env: Record<string, string | undefined>;
}

const startInBackground = async (
  { command }: BashInput,
  session: ShellSession,
  { program, args, cwd, env, note }: Place,
): Promise<ToolOutput> => {
  if (!session.hasRoom) return { content: tooMany, isError: true };
  const group = session.start({
    ...{ program, args, cwd, env },
    hasExtraPipe: true,
    leftovers: 'drain',
    onData: (stream, bytes) => {
      if (stream !== 'extra') shell.unread.push(stream, bytes);
      return undefined;
    },
  });
  const shell = session.adopt(command, group);
  if (group.pid === 0) {
    const end = await group.ended;
    const why = end.how === 'failed' ? end.detail : end.how;
    return { content: `The command could not be started: ${why}`, isError: true };
  }
  const text =
    `Runs in the background as shell ${shell.id} (pid ${group.pid}). BashOutput shows what it ` +
    'prints, KillShell ends it. It ends with the session.';
  return {
    content: note === undefined ? text : `${text}\n\n${note}`,
    data: { stdout: '', stderr: '', interrupted: false, shellId: shell.id, pid: group.pid, cwd },
  };
};

const tooMany =
  `${shellLimits.runningMax} shells are running in the background already. ` +
  'End some of them with KillShell first.';

const runToItsEnd = async (
  input: BashInput,
  context: ToolContext,
  session: ShellSession,
  place: Place,
): Promise<ToolOutput> => {
  const timeoutMs = timeoutOf(input.timeout);
  const output = new BoundedText(shellLimits.resultCharsMax);
  const file = new SavedOutput({
    folder: context.resultsFolder,
    name: `bash-${context.toolUseId}`,
    memoryBytesMax: shellLimits.resultCharsMax,
  });
  const report = new FolderReport();
  const showProgress = progressOf(context, output);
  /** Takes over when the command has ended and a child of it prints on. */
  let later: Pick<BackgroundShell, 'unread'> | undefined;
  const group = session.start({
    ...{ program: place.program, args: place.args, cwd: place.cwd, env: place.env },
    hasExtraPipe: true,
    timeoutMs,
    signal: context.signal,
    leftovers: 'drain',
    onData: (stream, bytes) => {
      if (stream === 'extra') report.push(bytes);
      else if (later) later.unread.push(stream, bytes);
      else {
        output.push(stream, bytes);
        showProgress();
        return file.push(bytes);
      }
      return undefined;
    },
  });
  const end = await group.ended;
  const leftovers = end.how === 'exited' || end.how === 'signalled' ? group.leftovers() : [];
  const shell = leftovers.length > 0 ? keep(input.command, group, session) : undefined;
  later = shell ?? { unread: new BoundedText(0) };
  output.end();
  const saved = await file.close(output.isCut);
  const cwd = end.how === 'exited' ? await moved(report, place.cwd, context) : place.cwd;
  return describeRun({
    end,
    output: output.read(),
    saved,
    timeoutMs,
    cwd,
    folderNote: place.note,
    hint: end.how === 'timedOut' ? deadlineHint(input.command, output.last(500)) : undefined,
    leftovers,
    shellId: shell?.id,
  });
};

/** What a command has left behind goes on as a shell; too many of them are only told of. */
const keep = (command: string, group: ProcessGroup, session: ShellSession) =>
  session.hasRoom ? session.adopt(command, group) : undefined;

/** Moves the session to where the command has ended. */
const moved = async (report: FolderReport, from: string, context: ToolContext): Promise<string> => {
  const to = report.folder;
  if (to === undefined || (await isSameFolder(from, to)) || !(await isFolder(to))) return from;
  context.setCwd(to);
  return to;
};

/** Shows the last line now and then. */
const progressOf = (context: ToolContext, output: BoundedText): (() => void) => {
  let shownAt = performance.now();
  return () => {
    const now = performance.now();
    if (now - shownAt < shellLimits.progressMs) return;
    shownAt = now;
    const lines = output
      .last(shellLimits.progressChars * 2)
      .trimEnd()
      .split('\n');
    context.progress(clipStart(lines.at(-1) ?? '', shellLimits.progressChars));
  };
};
