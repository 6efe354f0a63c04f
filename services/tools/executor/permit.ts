/**
 * May this call run, and with which input? Hooks first, then rules and mode, then whoever can be
 * asked. An input that was edited is parsed again and judged again: nobody edits past a deny rule.
 */
import type { HookVerdict } from '../../hooks/types.ts';
import { isRecord } from '../../is-record.ts';
import { jsonFault } from '../../json-fault.ts';
import { messageOf } from '../../message-of.ts';
import { answerOrAborted } from '../../or-aborted.ts';
import type { CanUseTool, PermissionDecision } from '../../permissions/types.ts';
import { deepWellFormed } from '../../well-formed.ts';
import type { ParsedInput, Tool, ToolInput } from '../tool.ts';
import { type Answer, answers, bounded, failed, stableJson } from './answer.ts';
import type { ExecutorDeps } from './deps.ts';

/** A call that is known, readable and parsed. */
export interface ReadyCall {
  readonly id: string;
  readonly tool: Tool;
  readonly input: ToolInput;
  /** Aborted by the host or by the end of the query; the tool's deadline is another matter. */
  readonly signal: AbortSignal;
}

/** Told when a person begins and ends to be asked: the clock of the chart stands still between. */
export interface Asking {
  asked(question: string): void;
  answered(question: string): void;
}

export type Permit = { readonly contexts: readonly string[]; readonly input: ToolInput } & (
  | { readonly kind: 'run'; readonly isEdited: boolean }
  | {
      readonly kind: 'refused';
      readonly answer: Answer;
      /** Somebody said no; else the call could not be made at all. */
      readonly isDenial: boolean;
      readonly interrupts: boolean;
      /** A hook stops the turn: nothing else of the round begins. */
      readonly stops?: string;
    }
  /** The host decides later, in another process maybe. The call stays open. */
  | { readonly kind: 'deferred'; readonly isEdited: boolean }
);

/** *Contract:* never throws: whatever breaks on the way is a refusal. */
export async function permit(call: ReadyCall, deps: ExecutorDeps, asking: Asking): Promise<Permit> {
  const verdict = await deps.runHooks('PreToolUse', hookFieldsOf(call), {
    matchQuery: call.tool.name,
    toolUseId: call.id,
    signal: call.signal,
  });
  for (const warning of verdict.warnings) deps.onWarning(warning);
  const contexts = verdict.additionalContext;
  const stop = (answer: Answer, more: Partial<Refusal> = {}): Permit => ({
    ...{ kind: 'refused', isDenial: true, interrupts: false, contexts, input: call.input },
    answer,
    ...more,
  });

  if (verdict.prevented) {
    const { reason } = verdict.prevented;
    const answer = answers.notRun(`a hook has stopped the turn: ${reason}`);
    return stop(answer, { stops: reason, isDenial: false });
  }
  const edited = await edit(call, verdict.updatedInput, 'a hook');
  if (!edited.ok) return stop(edited.answer, { isDenial: false });
  const no = hookDenial(verdict);
  if (no !== undefined) return stop(failed(no));
  const asEdited: ReadyCall = { ...call, input: edited.input };
  if (verdict.permission?.decision === 'defer') {
    return { kind: 'deferred', contexts, input: edited.input, isEdited: edited.isEdited };
  }

  const decision = await decide(asEdited, deps, verdict, asking);
  if (decision.kind === 'no') {
    const { isDenial, interrupts } = decision;
    return stop(decision.answer, { isDenial, interrupts });
  }
  deps.onPermitted?.(call.tool.name, decision.because);
  const isEdited = edited.isEdited || decision.isEdited;
  return { kind: 'run', contexts, input: decision.input, isEdited };
}

type Refusal = Extract<Permit, { kind: 'refused' }>;

/** What hooks, rules and hosts are told of a call. */
export const hookFieldsOf = (call: Pick<ReadyCall, 'id' | 'tool' | 'input'>) => ({
  tool_name: call.tool.name,
  tool_input: call.input,
  tool_use_id: call.id,
});

function hookDenial(verdict: HookVerdict): string | undefined {
  if (verdict.permission?.decision === 'deny') {
    return verdict.permission.reason || 'A hook has denied this call.';
  }
  return verdict.blocked.length > 0 ? verdict.blocked.join('\n') : undefined;
}

type Edited =
  | { readonly ok: true; readonly input: ToolInput; readonly isEdited: boolean }
  | { readonly ok: false; readonly answer: Answer };

async function edit(
  call: ReadyCall,
  updated: ToolInput | undefined,
  editor: string,
): Promise<Edited> {
  if (updated === undefined) return { ok: true, input: call.input, isEdited: false };
  const copied = asJson(updated);
  const parsed = copied.ok ? await parseInput(call.tool, copied.input) : copied;
  return parsed.ok
    ? { ok: true, input: parsed.input, isEdited: true }
    : { ok: false, answer: answers.badEdit(call.tool, editor, parsed.message) };
}

/** As history will show it; and nobody can change it once it was judged. */
function asJson(updated: ToolInput): ParsedInput {
  try {
    const input = JSON.parse(JSON.stringify(updated)) as ToolInput;
    return { ok: true, input: deepWellFormed(input) };
  } catch (error) {
    return { ok: false, message: `it is no JSON: ${jsonFault(error)}` };
  }
}

/** A tool whose parser throws has refused the input. */
export async function parseInput(tool: Tool, input: unknown): Promise<ParsedInput> {
  try {
    return await tool.parse(input);
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

type Decision =
  | {
      readonly kind: 'yes';
      readonly input: ToolInput;
      readonly isEdited: boolean;
      readonly because: string;
    }
  | {
      readonly kind: 'no';
      readonly answer: Answer;
      readonly isDenial: boolean;
      readonly interrupts: boolean;
    };
const no = (text: string, interrupts = false): Decision => ({
  ...{ kind: 'no', answer: failed(text), isDenial: true },
  interrupts,
});

async function decide(
  call: ReadyCall,
  deps: ExecutorDeps,
  verdict: HookVerdict,
  asking: Asking,
): Promise<Decision> {
  const judged = await judge(call, deps);
  const hook = verdict.permission;
  switch (judged.behavior) {
    case 'deny': // by a rule: no hook lifts it
      if (hook?.decision === 'allow' && judged.isUnasked === true) {
        return unedited(call, hookSaid(hook.reason));
      }
      return no(judged.message, judged.interrupt);
    case 'allow': {
      const edited = await edit(call, judged.updatedInput, 'a permission rule');
      if (!edited.ok) return { ...edited, kind: 'no', isDenial: false, interrupts: false };
      if (hook?.decision !== 'ask') return { kind: 'yes', ...edited, because: judged.because };
      return ask({ ...call, input: edited.input }, deps, hook.reason || 'a hook asks', asking);
    }
    case 'ask':
      if (hook?.decision === 'allow' && judged.isFirm !== true) {
        return unedited(call, hookSaid(hook.reason));
      }
      return ask(call, deps, judged.because, asking);
  }
}

const unedited = ({ input }: ReadyCall, because: string): Decision => ({
  ...{ kind: 'yes', isEdited: false, input, because },
});
const hookSaid = (reason: string | undefined) => reason || 'a hook allows it';

/**
 * Fails closed: a judge that cannot judge has said no. The final answer in a wanted shape is no act
 * but words: rules (`deny: ["*"]`) are not asked about it.
 */
async function judge(call: ReadyCall, deps: ExecutorDeps): Promise<PermissionDecision> {
  if (call.tool.name === deps.structuredOutput?.toolName) {
    return { behavior: 'allow', because: 'it gives the final answer' };
  }
  try {
    return await deps.judge(call.tool, call.input, deps.permissionContext(), deps.cwd());
  } catch (error) {
    const because = `the permission rules could not be applied: ${messageOf(error)}`;
    return { behavior: 'deny', message: `Not allowed: ${because}`, because };
  }
}

type HostAnswer = Awaited<ReturnType<CanUseTool>>;

async function ask(
  call: ReadyCall,
  deps: ExecutorDeps,
  because: string,
  asking: Asking,
): Promise<Decision> {
  const { name } = call.tool;
  if (deps.permissionContext().mode === 'dontAsk') {
    return no(`${name} needs a permission (${because}), and in this mode nobody is asked.`);
  }
  if (!deps.canUseTool) {
    return no(
      `${name} needs a permission (${because}), and there is nobody who could be asked. Only what the rules or the mode allow can run here.`,
    );
  }
  const question = deps.uuid();
  asking.asked(question);
  const answer = await askHost(call, deps, deps.canUseTool, because);
  asking.answered(question);
  if (answer.behavior === 'deny') return no(answer.message, answer.interrupt === true);

  if (answer.updatedPermissions && answer.updatedPermissions.length > 0) {
    deps.onPermissionUpdates?.(answer.updatedPermissions);
  }
  const edited = await edit(call, answer.updatedInput, 'the host');
  if (!edited.ok) return { ...edited, kind: 'no', isDenial: false, interrupts: false };
  if (!edited.isEdited || sameJson(edited.input, call.input)) {
    return unedited(call, 'who was asked allows it');
  }
  const again = await judge({ ...call, input: edited.input }, deps);
  return again.behavior === 'deny'
    ? no(again.message)
    : { kind: 'yes', ...edited, because: 'who was asked allows it, edited' };
}

/** Hosts often hand back the input that they were shown: that is no edit. */
const sameJson = (a: ToolInput, b: ToolInput) => stableJson(a) === stableJson(b);

/** Exactly one answer, whatever the host does: throws, answers nonsense, or never answers. */
async function askHost(
  call: ReadyCall,
  deps: ExecutorDeps,
  canUseTool: CanUseTool,
  because: string,
): Promise<HostAnswer> {
  const suggestions = deps.suggest?.(call.tool, call.input);
  try {
    const ask = async (signal: AbortSignal): Promise<unknown> =>
      canUseTool(call.tool.name, call.input, {
        signal,
        toolUseID: call.id,
        decisionReason: because,
        ...(suggestions ? { suggestions } : {}),
      });
    const answer = await answerOrAborted(ask, call.signal);
    if (call.signal.aborted) return denial('Interrupted before the permission was given.');
    return checked(answer);
  } catch (error) {
    return denial(`Tool permission request failed: ${messageOf(error)}`);
  }
}

const denial = (message: string): HostAnswer => ({ behavior: 'deny', message });

function checked(answer: unknown): HostAnswer {
  const wrong = (what: string) => denial(`Tool permission request failed: ${what}`);
  const wanted = '{"behavior":"allow"} or {"behavior":"deny","message":"…"}';
  if (answer === undefined || answer === null) {
    return wrong(`who was asked (canUseTool) gave ${answer}, which is no answer: give ${wanted}`);
  }
  if (!isRecord(answer)) return wrong(`the answer of canUseTool is no object: give ${wanted}`);
  const { behavior, message, interrupt, updatedInput, updatedPermissions } = answer;
  if (behavior === 'deny') {
    const text = typeof message === 'string' && message.trim() ? message : 'Permission denied.';
    return { behavior, message: text, interrupt: interrupt === true };
  }
  if (behavior !== 'allow') return wrong(`"behavior" is ${shownWord(behavior)}: give ${wanted}`);
  if (updatedInput != null && !isRecord(updatedInput)) return wrong('"updatedInput" is no object');
  if (updatedPermissions != null && !Array.isArray(updatedPermissions)) {
    return wrong('"updatedPermissions" is no list');
  }
  return {
    behavior,
    ...(updatedInput == null ? {} : { updatedInput }),
    ...(updatedPermissions == null ? {} : { updatedPermissions }),
  };
}

/** Anything at all may stand there. */
const shownWord = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(bounded(value, 100)) : typeof value;
