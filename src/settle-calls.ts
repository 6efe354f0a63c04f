/**
 * Calls that were left open when a turn or a process ended are closed before the model is asked
 * again: run, when nothing can have happened yet or nothing can happen; else the model is told.
 */
import type { QueryEvent } from '../machines/events.ts';
import { type Fate, fateOf, type OpenCall, orphanTexts } from '../services/journal/open-calls.ts';
import type { LogMessage } from '../services/messages.ts';
import { answerOrAborted } from '../services/or-aborted.ts';
import { amended, type DeferredCall } from '../services/tools/executor/index.ts';
import type { ToolInput } from '../services/tools/tool.ts';
import type { OnUnknownOutcome, OrphanedPermission, QueryConfig } from './config.ts';
import { toolExecutor } from './deps.ts';
import type { QueryScope } from './query-scope.ts';
import type { SessionServices } from './session-services.ts';
import { show } from './show.ts';

export interface SettleParts {
  readonly calls: readonly OpenCall[];
  readonly scope: QueryScope;
  readonly config: QueryConfig;
  readonly services: SessionServices;
  readonly signal: AbortSignal;
  /** The last turn has left its calls to the host. */
  readonly isDeferred: boolean;
  readonly orphanedPermission: OrphanedPermission | undefined;
}

export interface SettledCalls {
  /** Answers, then what hooks want to have read: history goes on with them. */
  readonly messages: readonly LogMessage[];
  /** Left to the host once more. */
  readonly deferred: readonly DeferredCall[];
}

/** *Contract:* each call is answered once, or deferred. Shown and written down as it comes. */
export async function settleCalls(parts: SettleParts): Promise<SettledCalls> {
  const { calls, scope } = parts;
  const toRun: OpenCall[] = [];
  const messages: LogMessage[] = [];
  const answer = (call: OpenCall, text: string) => {
    const message = scope.session.log.put(answerTo(call, text, scope));
    show(message, scope);
    messages.push(message);
  };
  for (const call of calls) {
    const verdict = await judge(call, parts);
    if (verdict.kind === 'run') toRun.push(verdict.call);
    else answer(call, verdict.text);
  }
  if (toRun.length === 0) return { messages, deferred: [] };
  const ran = await run(toRun, parts);
  for (const message of ran.messages) messages.push(message);
  const open = toRun.filter(({ block }) => !ran.closed.has(block.id));
  for (const call of open) answer(call, 'The call was interrupted: its outcome is unknown.');
  return { messages: [...messages, ...ran.contexts], deferred: ran.deferred };
}

type Verdict =
  | { readonly kind: 'run'; readonly call: OpenCall }
  | { readonly kind: 'tell'; readonly text: string };

async function judge(call: OpenCall, parts: SettleParts): Promise<Verdict> {
  const { block } = call;
  const fate = fateHere(call, parts);
  const { orphanedPermission: answer } = parts;
  const isAnswered = answer?.toolUseId === block.id;
  switch (fate.kind) {
    case 'finished':
      return { kind: 'tell', text: orphanTexts.finished };
    case 'unknown':
      return (await mayRunAgain(call, parts))
        ? { kind: 'run', call }
        : { kind: 'tell', text: orphanTexts.unknown };
    case 'notRun':
    case 'undecided':
    case 'repeatable':
      break;
  }
  if (isAnswered) {
    const { decision } = answer;
    if (decision.behavior === 'deny') return { kind: 'tell', text: decision.message };
    const { updatedInput } = decision;
    return { kind: 'run', call: updatedInput ? withInput(call, updatedInput, parts.scope) : call };
  }
  return fate.kind === 'notRun'
    ? { kind: 'tell', text: orphanTexts.notRun }
    : { kind: 'run', call };
}

function fateHere({ block }: OpenCall, { scope, isDeferred }: SettleParts): Fate {
  const { session } = scope;
  const restored = session.config.resumed?.restored;
  const tool = session.tools().find(({ name }) => name === block.name);
  return fateOf({
    isReadOnly: tool ? isReadOnly(() => tool.isReadOnly(block.input as ToolInput)) : false,
    hasLedger: restored?.isOwn ?? true,
    ledger: restored?.ledger.get(block.id),
    isDeferred,
  });
}

/** In doubt: no. */
function isReadOnly(judgeIt: () => boolean): boolean {
  try {
    return judgeIt();
  } catch {
    return false;
  }
}

/** Whoever is asked is waited for as long as nobody says stop; and it is said that he is. */
async function mayRunAgain({ block }: OpenCall, { scope, signal }: SettleParts): Promise<boolean> {
  const { onUnknownOutcome = 'tell_model' } = scope.session.config;
  if (typeof onUnknownOutcome === 'string' && onUnknownOutcome !== 'ask') {
    return onUnknownOutcome === 'run_again';
  }
  if (onUnknownOutcome === 'ask' && !scope.canUseTool) return false;
  if (signal.aborted) return false;
  tellWaiting(scope, true);
  try {
    const ask = (stop: AbortSignal) => saysRunAgain(block, onUnknownOutcome, scope, stop);
    return (await answerOrAborted(ask, signal)) ?? false;
  } catch (error) {
    scope.warn(`nobody could say whether ${block.name} is to be run again: ${String(error)}`);
    return false;
  } finally {
    tellWaiting(scope, false);
  }
}

async function saysRunAgain(
  { id: toolUseId, name, input: given }: OpenCall['block'],
  asked: Exclude<OnUnknownOutcome, 'tell_model' | 'run_again'>,
  { canUseTool }: QueryScope,
  signal: AbortSignal,
): Promise<boolean> {
  const input = given as ToolInput;
  if (asked !== 'ask') return (await asked({ toolUseId, name, input }, { signal })) === 'run_again';
  const decisionReason =
    'the session ended while this call ran, and its outcome is unknown: run it again?';
  const said = await canUseTool?.(name, input, { signal, toolUseID: toolUseId, decisionReason });
  return said?.behavior === 'allow';
}

/** The one who was asked has edited the input: history shows what runs. */
function withInput(call: OpenCall, input: ToolInput, { session }: QueryScope): OpenCall {
  const message = amended(call.message, input);
  session.log.amend(message);
  session.transcript.amend(message);
  return { message, block: { ...call.block, input } };
}

async function run(calls: readonly OpenCall[], parts: SettleParts) {
  const { scope, config, services, signal, orphanedPermission: answer } = parts;
  const tell = (event: QueryEvent) => tellQuestions(event, scope);
  const executor = toolExecutor(answered(scope, answer), config, services, tell);
  const stop = () => executor.discard();
  signal.addEventListener('abort', stop, { once: true });
  const messages: LogMessage[] = [];
  const closed = new Set<string>();
  try {
    if (!signal.aborted) {
      for (const { block, message } of calls) executor.addTool(block, message);
      for await (const { message } of executor.getRemainingResults()) {
        show(message, scope);
        messages.push(message);
        if (message.toolUseId !== undefined) closed.add(message.toolUseId);
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  const { deferred } = executor;
  for (const { id } of deferred) closed.add(id);
  const contexts = executor.takeContexts().map((message) => scope.session.log.put(message));
  for (const message of contexts) show(message, scope);
  scope.session.stopping.push(executor.stop());
  return { messages, closed, deferred, contexts };
}

function tellQuestions({ type }: QueryEvent, scope: QueryScope): void {
  if (type === 'person.asked') tellWaiting(scope, true);
  else if (type === 'person.answered') tellWaiting(scope, false);
}

/** No chart runs yet that would say that a person is waited for. */
function tellWaiting(scope: QueryScope, isWaiting: boolean): void {
  if (isWaiting) scope.notify('permission_prompt', 'A tool call waits for you.');
  scope.system({
    subtype: 'session_state_changed',
    state: isWaiting ? 'requires_action' : 'running',
  });
}

/** A person has already answered for one of the calls: nobody is asked about it again. */
function answered(scope: QueryScope, answer: OrphanedPermission | undefined): QueryScope {
  if (answer?.decision.behavior !== 'allow') return scope;
  const { canUseTool } = scope;
  return scope.with({
    canUseTool: async (name, input, options) =>
      options.toolUseID === answer.toolUseId
        ? { behavior: 'allow' }
        : ((await canUseTool?.(name, input, options)) ?? {
            behavior: 'deny',
            message: `${name} needs a permission, and there is nobody who could be asked.`,
          }),
  });
}

const answerTo = ({ block }: OpenCall, text: string, scope: QueryScope): LogMessage => ({
  uuid: scope.uuid(),
  role: 'user',
  kind: 'tool_result',
  toolUseId: block.id,
  origin: 'repair',
  isMeta: true,
  timestamp: scope.now().toISOString(),
  content: [{ type: 'tool_result', tool_use_id: block.id, content: text, is_error: true }],
});
