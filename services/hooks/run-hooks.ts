/** Runs the hooks of an event: all that match, at the same time, into one verdict. */
import { randomUUID } from 'node:crypto';
import { messageOf } from '../message-of.ts';
import { guardAtExit } from '../tools/process/exit-guard.ts';
import { findMarked, killMarked, signalProcess } from '../tools/process/marks.ts';
import { workingFolder } from '../tools/process/working-folder.ts';
import { runCallbackHook } from './callback-hook.ts';
import { runCommandHook } from './command-hook.ts';
import { hookLimits } from './limits.ts';
import { mergeHooks, silence } from './merge.ts';
import type { HookOutcome, HookResult } from './outcome.ts';
import { type CommandHook, failsClosed, type HookRegistration } from './registration.ts';
import type { HookEvent, HookInput, RunHooks } from './types.ts';

/** What a host may watch, when it opts in; field names of the wire. */
export type HookMessage = {
  readonly hook_id: string;
  readonly hook_event: HookEvent;
  /** `PreToolUse:Bash`. */
  readonly hook_name: string;
} & (
  | { readonly subtype: 'hook_started' }
  | {
      readonly subtype: 'hook_progress';
      readonly stdout: string;
      readonly stderr: string;
      readonly output: string;
    }
  | {
      readonly subtype: 'hook_response';
      readonly stdout: string;
      readonly stderr: string;
      readonly output: string;
      readonly exit_code?: number;
      readonly outcome: 'success' | 'error' | 'cancelled';
    }
);

export interface RunHooksDeps {
  /** In the order in which they count: managed, user, project, local, flag, callbacks. */
  readonly registrations: () => readonly HookRegistration[];
  /** What every hook is told. */
  readonly base: () => Pick<
    HookInput,
    'session_id' | 'transcript_path' | 'cwd' | 'permission_mode'
  >;
  /** Environment of the commands. */
  readonly env: () => Readonly<Record<string, string | undefined>>;
  readonly projectRoot: string;
  /** Does a permission rule (`if`) fit a call? Without it every hook with a condition runs. */
  readonly matchesRule?: (
    rule: string,
    toolName: string,
    input: Readonly<Record<string, unknown>>,
  ) => boolean | Promise<boolean>;
  /** Makes the ids of messages. */
  readonly uuid: () => string;
  /** Only when the host wants to watch. */
  readonly onMessage?: ((message: HookMessage) => void) | undefined;
}

/** `dispose` ends what hooks have left behind, and those that nobody waits for. */
export type HookRunner = RunHooks & { dispose(): Promise<void> };

/** *Contract:* the runner never throws. It costs nothing when no hook matches. */
export const createRunHooks = (deps: RunHooksDeps): HookRunner => {
  const session: Session = { ...deps, mark: randomUUID(), groups: 0, letGo: undefined };
  const runHooks: RunHooks = async (event, fields, options) => {
    const candidates = deps
      .registrations()
      .filter((hook) => hook.event === event && fits(hook, options.matchQuery));
    if (candidates.length === 0) return silence;
    try {
      const call: Call = { ...options, event, fields, input: inputOf(session, event, fields) };
      const hooks = await withCondition(session, call, onlyOnce(candidates));
      const results = await Promise.all(hooks.map((hook) => runOne(session, call, hook)));
      return mergeHooks(event, results.flat());
    } catch (error) {
      const outcome: HookOutcome = { kind: 'failed', detail: messageOf(error) };
      return mergeHooks(
        event,
        candidates.map((hook): HookResult => ({ hook, outcome })),
      );
    }
  };
  return Object.assign(runHooks, { dispose: () => dispose(session) });
};

interface Session extends RunHooksDeps {
  readonly mark: string;
  groups: number;
  /** Set once a command was run. */
  letGo: (() => void) | undefined;
}

interface Call {
  readonly event: HookEvent;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly input: HookInput;
  readonly matchQuery?: string;
  readonly toolUseId?: string;
  readonly signal: AbortSignal;
}

const inputOf = (
  session: Session,
  event: HookEvent,
  fields: Readonly<Record<string, unknown>>,
): HookInput => ({ ...fields, ...session.base(), hook_event_name: event });

/** Events that have nothing to be matched by run all their hooks. */
const fits = (hook: HookRegistration, query: string | undefined): boolean =>
  query === undefined || hook.matches(query);

/** The same command in two settings files is meant once; the stricter of the two stays. */
const onlyOnce = (hooks: readonly HookRegistration[]): readonly HookRegistration[] =>
  hooks.filter((hook, index) => {
    if (hook.kind === 'callback') return true;
    return !hooks.some((other, at) => {
      if (at === index || !isSameCommand(hook, other)) return false;
      const [mine, its] = [failsClosed(hook), failsClosed(other)];
      return mine === its ? at < index : its;
    });
  });

const isSameCommand = (hook: CommandHook, other: HookRegistration): boolean =>
  other.kind === 'command' &&
  other.command === hook.command &&
  other.isAsync === hook.isAsync &&
  other.condition === hook.condition;

/** A condition that cannot be judged does not keep a hook from running. */
const withCondition = async (
  { matchesRule }: Session,
  { fields }: Call,
  hooks: readonly HookRegistration[],
): Promise<readonly HookRegistration[]> => {
  const { tool_name: toolName, tool_input: input } = fields;
  if (!matchesRule || typeof toolName !== 'string') return hooks;
  const verdicts = await Promise.all(
    hooks.map(async (hook) => {
      if (hook.kind === 'callback' || hook.condition === undefined) return true;
      try {
        return await matchesRule(hook.condition, toolName, (input ?? {}) as HookInput);
      } catch {
        return true;
      }
    }),
  );
  return hooks.filter((_, index) => verdicts[index]);
};

/** Nothing comes back from a hook that nobody waits for. */
const runOne = async (
  session: Session,
  call: Call,
  hook: HookRegistration,
): Promise<readonly HookResult[]> => {
  if (hook.kind === 'callback') {
    const tell = messenger(session, call);
    tell({ subtype: 'hook_started' });
    const outcome = await runCallbackHook(hook, call.input, call.toolUseId, call.signal);
    tell({ subtype: 'hook_response', ...noOutput, outcome: wordFor(outcome) });
    return [{ hook, outcome }];
  }
  const running = runCommand(session, call, hook).catch(
    // A host's listener that throws, an input that is no JSON.
    (error: unknown): HookOutcome => ({ kind: 'failed', detail: messageOf(error) }),
  );
  return hook.isAsync ? [] : [{ hook, outcome: await running }];
};

const noOutput = { stdout: '', stderr: '', output: '' };

const runCommand = async (
  session: Session,
  call: Call,
  hook: CommandHook,
): Promise<HookOutcome> => {
  const { cwd } = call.input;
  const folder = await workingFolder(cwd, session.projectRoot);
  if (!folder.ok) return { kind: 'failed', detail: folder.message };
  session.letGo ??= guardAtExit(session.mark);
  session.groups += 1;
  const tell = messenger(session, call);
  tell({ subtype: 'hook_started' });
  const { outcome, stdout, stderr, exitCode } = await runCommandHook(hook, {
    input: `${JSON.stringify(call.input)}\n`,
    cwd: folder.path,
    env: {
      ...session.env(),
      PWD: folder.path,
      CLAUDE_PROJECT_DIR: session.projectRoot,
      ESCAPEMENT_PROJECT_DIR: session.projectRoot,
      ...hook.env,
    },
    mark: `${session.mark}.${session.groups}.`,
    signal: call.signal,
    ...(session.onMessage ? { onProgress: showing(tell) } : {}),
  });
  tell({
    subtype: 'hook_response',
    ...{ stdout, stderr, output: stdout + stderr },
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    outcome: wordFor(outcome),
  });
  return outcome;
};

type Said = HookMessage extends infer M
  ? M extends unknown
    ? Omit<M, 'hook_id' | 'hook_event' | 'hook_name'>
    : never
  : never;

const messenger = ({ onMessage, uuid }: Session, { event, matchQuery }: Call) => {
  if (!onMessage) return () => {};
  const name = {
    hook_id: uuid(),
    hook_event: event,
    hook_name: matchQuery === undefined ? event : `${event}:${matchQuery}`,
  };
  return (said: Said) => onMessage({ ...name, ...said } as HookMessage);
};

const showing = (tell: (said: Said) => void) => (stdout: string, stderr: string) =>
  tell({ subtype: 'hook_progress', stdout, stderr, output: stdout + stderr });

const wordFor = ({ kind }: HookOutcome): 'success' | 'error' | 'cancelled' => {
  switch (kind) {
    case 'said':
    case 'context':
    case 'silent':
      return 'success';
    case 'objected':
    case 'failed':
      return 'error';
    case 'aborted':
      return 'cancelled';
  }
};

const dispose = async (session: Session): Promise<void> => {
  const left = session.letGo ? findMarked(session.mark) : [];
  for (const entry of left) signalProcess(entry, 'SIGTERM');
  const until = performance.now() + hookLimits.disposeGraceMs;
  while (left.length > 0 && performance.now() < until && findMarked(session.mark).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  if (left.length > 0) killMarked(session.mark);
  session.letGo?.();
  session.letGo = undefined;
};
