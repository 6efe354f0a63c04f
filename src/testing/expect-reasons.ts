/** Why a session went on, and why each of its turns ended. */
import type { SDKMessage } from '../wire.ts';

/** Reasons in their order: of each further iteration, and of the end of each turn. */
export const reasonsOf = (messages: readonly SDKMessage[]): readonly string[] =>
  messages.flatMap((message) => {
    if (message.type === 'result') return [message.terminal_reason];
    const goesOn = message.type === 'system' && message.subtype === 'transition';
    return goesOn && !message.parent_tool_use_id ? [message.reason] : [];
  });

/**
 * Throws when a session took another way than this. Reasons of agents do not count.
 * @throws Error with both ways.
 *
 * @example
 * expectReasons(session.messages, ['next_turn', 'stop_hook_blocking', 'completed']);
 */
export function expectReasons(messages: readonly SDKMessage[], expected: readonly string[]): void {
  const way = reasonsOf(messages);
  if (way.join() === expected.join()) return;
  const [wanted, taken] = [expected, way].map((reasons) => reasons.join(' → ') || '(nothing)');
  throw new Error(`the session took another way\n  expected: ${wanted}\n  taken:    ${taken}`);
}
