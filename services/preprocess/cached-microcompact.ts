/**
 * Microcompact in its cached mode: the API clears old results itself, so that our requests stay the
 * same from one to the next. What it has cleared is known after its answer. A server that cannot do
 * it is noticed by its refusal, or by its silence; from then on the results are cleared here.
 */
import type { LogMessage } from '../messages.ts';
import {
  type AppliedEdit,
  type ContextEdit,
  refusesContextEditing,
} from '../model/context-editing.ts';
import type { CallModel, ModelEvent, ModelRequest, Usage } from '../model/types.ts';
import { REREADABLE, RESULTS_KEPT } from './microcompact.ts';
import { callsOf } from './rounds.ts';
import { pass, type Stage, type Tell } from './stage.ts';
import type { WindowNumbers } from './windows.ts';

/** Shared by a session and its agents: what one of them has learnt of the server all know. */
export interface EditingMode {
  /** Why the server is not asked any more. */
  refusal: string | undefined;
}

export interface CachedMicrocompactDeps {
  /** Read at each use: the gate is open, and the client may be asked. */
  readonly isWanted: () => boolean;
  readonly mode: EditingMode;
  readonly windowsOf: (model: string) => Pick<WindowNumbers, 'effective'>;
  readonly tell: Tell;
  /** Calls whose results the model does not see any more: Read must show them again. */
  readonly onCleared: (toolUseIds: readonly string[]) => void;
}

/** Where the API itself would begin. */
const TRIGGER_TOKENS_MAX = 100_000;
/** Of the window: well before a summary would be made. */
const TRIGGER_SHARE = 0.5;
/** Of the trigger, 20,000 of 100,000: as much as is worth it here. */
const CLEARED_SHARE_MIN = 0.2;

export interface CachedMicrocompact {
  /** @param plain what clears here, once the server has been found not to. */
  stage(plain: Stage): Stage;
  /** Asks for the editing, and hears what came of it. One request more when it is refused. */
  callModel(callModel: CallModel): CallModel;
  /** The server is asked to clear. */
  isActive(): boolean;
}

/** One for each history that grows. */
export function createCachedMicrocompact(deps: CachedMicrocompactDeps): CachedMicrocompact {
  const { mode, tell, onCleared } = deps;
  /** What the last answer of the loop said. */
  let cleared: { readonly ids: readonly string[]; readonly tokens: number } = {
    ids: [],
    tokens: 0,
  };

  const isActive = () => deps.isWanted() && mode.refusal === undefined;
  const giveUp = (why: string) => {
    if (mode.refusal !== undefined) return; // one of several requests at once
    mode.refusal = why;
    const text = `The server does not clear old tool results itself: they are cleared here from now on (${why}).`;
    tell({ type: 'warning', text });
  };
  const editOf = ({ model, tools, messages }: ModelRequest): ContextEdit => {
    const { effective } = deps.windowsOf(model);
    const triggerTokens = Math.floor(Math.min(TRIGGER_TOKENS_MAX, effective * TRIGGER_SHARE));
    // Those in the history as well: a server of tools may be gone by now.
    const names = new Set([...tools, ...messages.flatMap(callsOf)].map(({ name }) => name));
    return {
      triggerTokens,
      usesKept: RESULTS_KEPT,
      clearedTokensMin: Math.floor(triggerTokens * CLEARED_SHARE_MIN),
      excludedTools: [...names].filter((name) => !REREADABLE.has(name)).sort(),
    };
  };
  /** Told is what is new: the API says all of it each time. */
  const noteApplied = (request: ModelRequest, { clearedTokens, clearedUses }: AppliedEdit) => {
    const ids = clearable(request.messages).slice(0, clearedUses);
    const isMore = cleared.ids.every((id, at) => id === ids[at]); // else the past was rewritten
    const fresh = isMore ? ids.slice(cleared.ids.length) : ids;
    const tokensFreed = Math.max(0, clearedTokens - (isMore ? cleared.tokens : 0));
    cleared = { ids, tokens: clearedTokens };
    if (fresh.length === 0) return;
    onCleared(fresh);
    tell({ type: 'contextEdit', stage: 'microcompact', tokensFreed, ids: fresh });
  };
  const note = (request: ModelRequest, edit: ContextEdit, event: ModelEvent) => {
    if (event.type !== 'ended' || request.querySource === 'compact') return;
    if (event.edited) noteApplied(request, event.edited);
    else if (
      promptOf(event.usage) > edit.triggerTokens &&
      clearable(request.messages).length > RESULTS_KEPT
    )
      giveUp('it takes no notice of context_management');
  };

  return {
    isActive,
    stage: (plain) => (state, signal) => (isActive() ? pass : plain)(state, signal),
    callModel: (callModel) =>
      async function* (request) {
        if (!isActive() || !isEdited(request)) {
          yield* callModel(request);
          return;
        }
        const contextEdit = editOf(request);
        const answer = callModel({ ...request, contextEdit });
        const first = await answer.next();
        if (first.done) return;
        if (first.value.type === 'failed' && refusesContextEditing(first.value.failure)) {
          giveUp(first.value.failure.detail);
          await answer.return(); // whoever looks on hears of its end
          yield* callModel(request);
          return;
        }
        let isTaken = false;
        try {
          note(request, contextEdit, first.value);
          yield first.value;
          isTaken = true;
        } finally {
          if (!isTaken) await answer.return();
        }
        yield* heard(answer, (event) => note(request, contextEdit, event));
      },
  };
}

/** The loop, and its summary, which begins with the same prompt. */
const isEdited = ({ querySource: source }: ModelRequest): boolean =>
  source === 'main' || source === 'subagent' || source === 'compact';

/** Calls whose results may be cleared, oldest first. */
const clearable = (messages: readonly LogMessage[]): readonly string[] =>
  messages.flatMap(callsOf).flatMap(({ id, name }) => (REREADABLE.has(name) ? [id] : []));

const promptOf = (usage: Usage): number =>
  usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;

/** The same events; each is looked at. What a consumer gets that leaves early is the source's. */
function heard(
  source: ReturnType<CallModel>,
  look: (event: ModelEvent) => void,
): ReturnType<CallModel> {
  const passed: ReturnType<CallModel> = {
    next: async () => {
      const step = await source.next();
      if (!step.done) look(step.value);
      return step;
    },
    return: (value) => source.return(value),
    throw: (error) => source.throw(error),
    [Symbol.asyncIterator]: () => passed,
  };
  return passed;
}
