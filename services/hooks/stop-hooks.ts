/** Asks the stop hooks whether an answer may stand, and says the answer in the chart's words. */
import type { QueryEvent } from '../../machines/events.ts';
import { isLoop, type MessageRef, type QueryState } from '../../machines/state.ts';
import type { MessageLog } from '../message-log.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { hookLimits } from './limits.ts';
import type { HookVerdict, RunHooks } from './types.ts';

type Answer = Extract<QueryEvent, { type: 'hooks.passed' | 'hooks.blocked' | 'hooks.prevented' }>;

export interface StopHooksDeps {
  readonly runHooks: RunHooks;
  /** What the hooks say to the model is put here; the chart gets its reference. */
  readonly log: MessageLog;
  readonly uuid: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onWarning: (text: string) => void;
  /** Told why a hook has ended the query, for people. */
  readonly onPrevented?: (reason: string) => void;
}

/**
 * The chart's `stopHooks`. *Contract:* resolves, whatever the hooks do.
 *
 * `additionalContext` counts as an objection: it can be read only if the model goes on.
 */
export const createStopHooks =
  (deps: StopHooksDeps) =>
  async (state: QueryState, signal: AbortSignal): Promise<Answer> => {
    if (!isLoop(state)) return { type: 'hooks.passed' };
    const verdict = await deps.runHooks(
      state.querySource === 'subagent' ? 'SubagentStop' : 'Stop',
      {
        stop_hook_active: state.stopHookActive,
        last_assistant_message: answerOf(state, deps.log),
      },
      { signal },
    );
    for (const warning of verdict.warnings) deps.onWarning(warning);
    if (verdict.prevented) {
      deps.onPrevented?.(verdict.prevented.reason);
      return { type: 'hooks.prevented' };
    }
    const objections = objectionsOf(verdict);
    if (objections.length === 0) return { type: 'hooks.passed' };
    return { type: 'hooks.blocked', errors: [say(objections, deps)] };
  };

/** Each once, also when a hook says the same as reason and as context. */
const objectionsOf = ({ blocked, additionalContext }: HookVerdict): readonly string[] => [
  ...new Set([...blocked, ...additionalContext].map((text) => text.trim())),
];

/** One message, however many hooks object: the model reads it once. */
const say = (objections: readonly string[], deps: StopHooksDeps): MessageRef => {
  const text = `A stop hook does not let this answer stand:\n${objections.join('\n\n')}`;
  const { uuid, role, kind } = deps.log.put({
    uuid: deps.uuid(),
    role: 'user',
    kind: 'note',
    origin: 'hook',
    timestamp: new Date(deps.now()).toISOString(),
    content: [{ type: 'text', text: clipEnd(text, hookLimits.textCharsMax) }],
    isMeta: true,
  });
  return { uuid, role, kind };
};

/** What the model has said in this iteration, for hooks that judge it. */
const answerOf = (state: QueryState, log: MessageLog): string =>
  [
    ...log.since(state.promptHead, state.history.head), // from its first call on it is history
    ...state.attempt.flatMap(({ uuid }) => (log.has(uuid) ? [log.get(uuid)] : [])),
  ]
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }) => content)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('');
