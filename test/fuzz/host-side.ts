/** Tools, hooks and people of a walk: what they do stands in the walk. */
import type { HookEvent, HookOutput } from '../../services/hooks/types.ts';
import type { CanUseTool } from '../../services/permissions/types.ts';
import type { ToolContext, ToolInput, ToolOutput } from '../../services/tools/tool.ts';
import type { Options } from '../../src/options.ts';
import { hostTool, pixel } from '../tools/host-tool.ts';
import type { HookDeed, PersonAnswer, ToolOutcome, WalkHook } from './walk.ts';

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Below it a healthy call is through, also on a busy machine; a hanging one is not waited for long. */
export const TOOL_MS = 250;
const SLOW_MS = 40;
const HUGE_CHARS = 300_000;

/** A side effect that was made. */
export interface Effect {
  readonly key: string;
  readonly toolUseId: string;
}

/** One process, as far as its tools know. */
export interface Life {
  /** Killed: nothing that it still does has any effect. */
  readonly isDead: boolean;
}

/** `Effect` changes something and is counted; `Look` may run beside others. */
export function toolsOf(life: Life, effects: Effect[]) {
  const call = (input: ToolInput, context: ToolContext) => {
    if (life.isDead) return aborted(context.signal).then((): ToolOutput => ({ content: '' }));
    return outcomeOf((input.does ?? 'ok') as ToolOutcome, context);
  };
  const common = { deadlineMs: () => TOOL_MS, call };
  return [
    hostTool('Effect', () => '', {
      ...common,
      isConcurrencySafe: () => false,
      isReadOnly: () => false,
      touches: () => ({ kind: 'unknown' }),
      call: (input, context) => {
        const { toolUseId, idempotencyKey: key } = context;
        if (!life.isDead) effects.push({ key, toolUseId });
        return call(input, context);
      },
    }),
    hostTool('Look', () => '', common),
  ];
}

/** What a call says that has come to its end. */
export const didOf = (toolUseId: string) => `did ${toolUseId}`;

function outcomeOf(does: ToolOutcome, context: ToolContext): Promise<ToolOutput> {
  if (does === 'throw at once') throw new Error('thrown at once');
  return answerOf(does, context);
}

async function answerOf(does: ToolOutcome, { signal, toolUseId }: ToolContext) {
  const did = didOf(toolUseId);
  switch (does) {
    case 'fail':
      return { content: 'it did not work', isError: true };
    case 'throw':
      await wait(1);
      throw new Error('thrown \ud83d');
    case 'hang':
      await aborted(signal);
      throw new Error('told to stop');
    case 'ignore the abort':
      await aborted(signal);
      await wait(SLOW_MS);
      return { content: `${did}, late` };
    case 'never end':
      return new Promise<never>(() => {});
    case 'huge':
      return { content: `${did} ${'x '.repeat(HUGE_CHARS / 2)}` };
    case 'odd text':
      return { content: `${did} half \ud83d \u0000 \u001b[31m` };
    case 'empty':
      return { content: '' };
    case 'image':
      return { content: [pixel as never, { type: 'text' as const, text: did }] };
    case 'slow':
      await wait(SLOW_MS);
      return { content: did };
    case 'no output':
      return undefined as unknown as ToolOutput;
    case 'bad output':
      return { content: [{ type: 'strange' } as never] };
    case 'throw at once':
    case 'ok':
      return { content: did };
    default:
      return { content: `${did} ${String(does satisfies never)}` };
  }
}

/** Somebody who never answers is not waited for for ever: the host gives the turn up. */
const PATIENCE_MS = 250;

/** @param giveUp interrupts the turn. */
export function personOf(giveUp: () => void): CanUseTool {
  return async (_, input, { signal }) => {
    const { asked = 'allow', ...rest } = input as { asked?: PersonAnswer };
    switch (asked) {
      case 'allow':
        return { behavior: 'allow' };
      case 'edit':
        return { behavior: 'allow', updatedInput: { ...rest, note: 'edited' } };
      case 'deny':
        return { behavior: 'deny', message: 'better not' };
      case 'interrupt':
        return { behavior: 'deny', message: 'stop it all', interrupt: true };
      case 'late':
        await wait(SLOW_MS);
        return { behavior: 'allow' };
      case 'never':
        await Promise.race([aborted(signal), wait(PATIENCE_MS)]);
        if (!signal.aborted) giveUp();
        await aborted(signal);
        return { behavior: 'allow' };
      case 'throw':
        throw new Error('no person');
      default:
        return { behavior: 'perhaps' } as never;
    }
  };
}

/** Seconds: a hook that hangs is not waited for long. */
const HOOK_SECONDS = 0.15;

/** As options of an engine. @param nap seconds that a command sleeps when it hangs. */
export function hooksOf(
  hooks: readonly WalkHook[],
  nap: string,
): Pick<Options, 'hooks' | 'settings'> {
  const functions: Partial<Record<HookEvent, object[]>> = {};
  const commands: Partial<Record<HookEvent, object[]>> = {};
  for (const hook of hooks) {
    const { event, isCommand, failsClosed } = hook;
    const common = {
      timeout: HOOK_SECONDS,
      ...(failsClosed ? { onFailure: 'block' as const } : {}),
    };
    if (isCommand) {
      const command = { type: 'command', command: commandOf(hook.does, event, nap), ...common };
      commands[event] = [...(commands[event] ?? []), { hooks: [command] }];
    } else {
      functions[event] = [...(functions[event] ?? []), { ...common, hooks: [callbackOf(hook)] }];
    }
  }
  return { hooks: functions as NonNullable<Options['hooks']>, settings: { hooks: commands } };
}

function callbackOf({ does, event, times }: WalkHook) {
  let left = times;
  return async (_input: unknown, _id: unknown, { signal }: { signal: AbortSignal }) => {
    left -= 1;
    if (left < 0) return {};
    if (does === 'throw') throw new Error('the hook threw \ud83d');
    if (does === 'hang') await aborted(signal);
    return saidBy(does, event);
  };
}

function saidBy(does: HookDeed, event: HookEvent): HookOutput {
  const specific = (fields: object) => ({
    hookSpecificOutput: { hookEventName: event, ...fields },
  });
  switch (does) {
    case 'block':
      return { decision: 'block', reason: 'the hook says no' };
    case 'prevent':
      return { continue: false, stopReason: 'the hook ends it' };
    case 'nonsense':
      return 42 as unknown as HookOutput;
    case 'context':
      return specific({ additionalContext: 'the hook knows more' });
    case 'odd text':
      return { decision: 'block', reason: 'half \ud83d \u0000', systemMessage: '\udc00' };
    case 'allow':
    case 'deny':
    case 'ask':
    case 'defer':
      return specific({ permissionDecision: does, permissionDecisionReason: 'the hook decides' });
    case 'edit':
      return specific({
        permissionDecision: 'allow',
        updatedInput: { does: 'ok', note: 'the hook edited' },
      });
    case 'replace':
      return specific({ updatedToolOutput: 'the hook has replaced it' });
    case 'pass':
    case 'throw':
    case 'hang':
      return {};
  }
}

function commandOf(does: HookDeed, event: HookEvent, nap: string): string {
  switch (does) {
    case 'throw':
      return 'echo objection >&2; exit 2';
    case 'hang':
      return `sleep ${nap}`;
    case 'nonsense':
      return 'echo \'{"decision": bl\'';
    case 'pass':
      return 'exit 1';
    default:
      return `cat >/dev/null; printf '%s' '${JSON.stringify(saidBy(does, event))}'`;
  }
}
