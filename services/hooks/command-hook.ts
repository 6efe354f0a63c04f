/** Runs the shell command of a hook: JSON on stdin, an answer by exit code, stdout and stderr. */
import { Deadline } from '../deadline.ts';
import { BoundedText } from '../tools/process/bounded-text.ts';
import { clipEnd, clipStart } from '../tools/process/clip.ts';
import { type GroupEnd, spawnGroup } from '../tools/process/spawn-group.ts';
import { hookLimits } from './limits.ts';
import type { HookOutcome } from './outcome.ts';
import { readStdout } from './read-said.ts';
import type { CommandHook } from './registration.ts';

/** The exit code that objects; its reason stands on stderr. */
const OBJECTS = 2;

export interface CommandRun {
  /** What the hook is told, as JSON. */
  readonly input: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly mark: string;
  readonly signal: AbortSignal;
  /** Called now and then with what was printed so far. */
  readonly onProgress?: (stdout: string, stderr: string) => void;
}

export interface CommandAnswer {
  readonly outcome: HookOutcome;
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
}

/**
 * *Contract:* never throws, and is over at the latest at the hook's timeout and a short grace. A
 * child that keeps a pipe is not waited for.
 */
export const runCommandHook = async (
  hook: CommandHook,
  run: CommandRun,
): Promise<CommandAnswer> => {
  const stdout = new BoundedText(hookLimits.outputCharsMax);
  const stderr = new BoundedText(hookLimits.outputCharsMax);
  const detached = detachOnRequest(hook, run.signal);
  const showProgress = progressOf(run, stdout, stderr);
  const group = spawnGroup({
    program: 'bash',
    args: ['-c', hook.command],
    cwd: run.cwd,
    env: run.env,
    mark: run.mark,
    stdin: run.input,
    // The hook's own time is `detached`'s business: it may ask for another.
    timeoutMs: hookLimits.asyncTimeoutMaxMs + hook.timeoutMs,
    timeoutGraceMs: hookLimits.killGraceMs,
    abortGraceMs: hookLimits.killGraceMs,
    signal: detached.signal,
    leftovers: 'close',
    onData: (stream, bytes) => {
      (stream === 'stderr' ? stderr : stdout).push(stream, bytes);
      if (stream === 'stdout') detached.look(stdout);
      if (stdout.isCut || stderr.totalBytes > hookLimits.stderrBytesMax) detached.giveUp();
      showProgress();
      return undefined;
    },
  });
  const end = await Promise.race([group.ended, detached.requested]);
  void group.ended.then(detached.dispose);
  if (end === 'detached') {
    return { outcome: { kind: 'silent' }, stdout: '', stderr: '', exitCode: undefined };
  }
  stdout.end();
  stderr.end();
  const words = stderr.read();
  return {
    outcome: await outcomeOf(
      detached.hasGivenUp() ? flooded : detached.isOverdue() ? overdue : end,
      hook,
      stdout,
      words.head + words.tail,
    ),
    stdout: excerpt(stdout),
    stderr: excerpt(stderr),
    exitCode: end.how === 'exited' ? end.code : undefined,
  };
};

const overdue: GroupEnd = { how: 'timedOut' };
/** It was ended for it: nobody waits until it has printed all that it wants to. */
const flooded: GroupEnd = { how: 'failed', detail: 'it printed too much for an answer' };

const outcomeOf = async (
  end: GroupEnd,
  hook: CommandHook,
  stdout: BoundedText,
  stderr: string,
): Promise<HookOutcome> => {
  const failed = (what: string): HookOutcome => ({
    kind: 'failed',
    detail: what + quote(stderr),
  });
  switch (end.how) {
    case 'exited':
      if (end.code === 0) return readStdout(stdout.read(), hook.event);
      if (end.code !== OBJECTS) return failed(`exit code ${end.code}`);
      return { kind: 'objected', reason: clipEnd(stderr.trim(), hookLimits.textCharsMax) };
    case 'signalled':
      return failed(`ended by ${end.signal}`);
    case 'timedOut':
      return failed(`no answer within ${hook.timeoutMs / 1_000} s`);
    case 'aborted':
      return { kind: 'aborted' };
    case 'failed':
      return failed(end.detail);
  }
};

const quote = (stderr: string): string => {
  const text = clipEnd(stderr.trim(), hookLimits.excerptCharsMax);
  return text === '' ? '' : `: ${text}`;
};

const excerpt = (text: BoundedText): string => clipEnd(text.read().head, hookLimits.textCharsMax);

/**
 * The first line of a hook that wants to go on unwatched: `{"async": true, "asyncTimeout": 5000}`.
 * @returns for how long (ms); `undefined`: it is no such line.
 */
const requestedMs = (line: string, hook: CommandHook): number | undefined => {
  try {
    const said: unknown = JSON.parse(line);
    if (said === null || typeof said !== 'object') return undefined;
    const { async: isAsync, asyncTimeout: wished } = said as Readonly<Record<string, unknown>>;
    if (isAsync !== true) return undefined;
    const isTime = typeof wished === 'number' && wished > 0;
    return isTime ? Math.min(wished, hookLimits.asyncTimeoutMaxMs) : hook.timeoutMs;
  } catch {
    return undefined;
  }
};

/** An answer on the first line is short: a longer one is no request. */
const REQUEST_CHARS_MAX = 1_000;

/**
 * A hook may let the turn go on while it works: from then on an abort of the turn no longer ends
 * it, only its timeout (`asyncTimeout`, from now on) and the end of the session do.
 */
const detachOnRequest = (hook: CommandHook, turn: AbortSignal) => {
  const own = new AbortController();
  const abort = () => own.abort();
  let deadline = new Deadline(hook.timeoutMs);
  deadline.signal.addEventListener('abort', abort);
  const letGo = () => turn.removeEventListener('abort', abort);
  if (hook.isAsync) letGo();
  else if (turn.aborted) abort();
  else turn.addEventListener('abort', abort, { once: true });
  let request: (detached: 'detached') => void = () => {};
  const requested = new Promise<'detached'>((resolve) => {
    request = resolve;
  });
  let isDecided = hook.isAsync;
  let hasGivenUp = false;
  return {
    signal: own.signal,
    requested,
    giveUp: () => {
      hasGivenUp = true;
      abort();
    },
    hasGivenUp: () => hasGivenUp,
    isOverdue: () => deadline.signal.aborted,
    dispose: () => {
      letGo();
      deadline.dispose();
    },
    look: (stdout: BoundedText) => {
      if (isDecided) return;
      const { head } = stdout.read();
      const lineEnd = head.indexOf('\n');
      if (lineEnd < 0 && head.length < REQUEST_CHARS_MAX) return;
      isDecided = true;
      const goesOnMs = requestedMs(head.slice(0, lineEnd), hook);
      if (goesOnMs === undefined) return;
      letGo();
      deadline.dispose();
      deadline = new Deadline(goesOnMs);
      deadline.signal.addEventListener('abort', abort);
      request('detached');
    },
  };
};

const progressOf = ({ onProgress }: CommandRun, stdout: BoundedText, stderr: BoundedText) => {
  if (!onProgress) return () => {};
  let shownAt = performance.now();
  return () => {
    const now = performance.now();
    if (now - shownAt < hookLimits.progressMs) return;
    shownAt = now;
    const last = (text: BoundedText) => clipStart(text.last(2_000), 2_000);
    onProgress(last(stdout), last(stderr));
  };
};
