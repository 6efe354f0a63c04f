/**
 * The chart of a query, for everyone who wants to see, test or host it: pure, without any I/O, and
 * safe in a browser. It imports nothing but `xstate`.
 *
 * @example Look at it: every edge that continues or ends a query carries its reason.
 * ```ts
 * import { queryMachine } from 'escapement/machine';
 *
 * for (const { meta } of queryMachine.root.transitions.get('abort') ?? []) console.log(meta.why);
 * ```
 *
 * @example Run it with services of your own.
 * ```ts
 * import { createActor } from 'xstate';
 * import { queryMachine } from 'escapement/machine';
 *
 * const actor = createActor(queryMachine.provide({ actors: { callModel, toolExecutor } }), {
 *   input: { queryId: 'q1', model: 'some-model', history: { head: '0/', count: 0, tokens: 0 } },
 * });
 * actor.on('*', (word) => console.log(word));
 * actor.start();
 * ```
 */
export type {
  DescribeCommand,
  QueryEvent,
  QueryOutput,
  ToolCommand,
} from './events.ts';
export { defaultLimits, limitsOf, type QueryLimits, UNBOUNDED } from './limits.ts';
export { conversations, questions, services } from './ports.ts';
export { queryMachine } from './query.machine.ts';
export {
  type ContinueReason,
  continueReasons,
  type TerminalReason,
  terminalReasons,
} from './reasons.ts';
export {
  type AutoCompactTracking,
  begin,
  type Cursor,
  type Failure,
  type FailureClass,
  type Flaw,
  flawOf,
  headAfter,
  type MessageRef,
  outputCap,
  type QueryInput,
  type QueryResult,
  type QuerySource,
  type QueryState,
  type StopReason,
  type Transition,
} from './state.ts';
export {
  type BudgetCompletion,
  type BudgetTracker,
  checkTokenBudget,
  type TokenBudgetDecision,
} from './token-budget.ts';
