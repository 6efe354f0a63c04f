/**
 * The services that the chart asks, with the contract of each. The chart knows only these names;
 * `provide` gives them life.
 * A service that a host switches off is an identity service, never a missing edge.
 *
 * *Contract of all:* resolve or send domain events only. A rejection or a throw is a bug of the
 * service and ends the query as `model_error`. Stop all work when the signal aborts. Never change
 * the state that was given.
 * A missed deadline ends it, too, where going on would be wrong: `legalize`, `switchModel` and
 * `stopHooks`. Elsewhere the query does without: a stage or the attachments are skipped, a rung of
 * the ladder (`stripMedia`, `drainCollapses`, `reactiveCompact`) has failed, calls that were not
 * answered are answered as unknown, and a request that is late is tried again like any other.
 */
import { fromCallback, fromPromise } from 'xstate';
import type { DescribeCommand, QueryEvent, ToolCommand } from './events.ts';
import type { QueryState } from './state.ts';

type Heard<T extends QueryEvent['type']> = Extract<QueryEvent, { type: T }>;
const question = <T extends QueryEvent['type']>() =>
  fromPromise<Heard<T>, QueryState>(() => Promise.reject(new Error('service not provided')));

/** One question, one answer. */
export const questions = {
  /** Big results go to files. *Must* decide the same again for the same tool use. */
  toolResultBudget: question<'stage.done'>(),
  /** Drops what lies before a boundary, calls with their results. */
  snip: question<'stage.done'>(),
  /** Clears old results of tools that can be run again. */
  microcompact: question<'stage.done'>(),
  /**
   * A view with the committed collapses in place. *Must not* wait for a summary: staging is done in
   * the background.
   */
  collapse: question<'stage.done'>(),
  /**
   * Above the threshold: one summary. *Must* say `compaction` when it tried, and *must not* try
   * when its own worst cost is not left.
   */
  autocompact: question<'stage.done'>(),
  /** The gate that no illegal history passes. *Must* return a legal history by reference. */
  legalize: question<'stage.done'>(),
  /** Commits every staged collapse. `collapse.empty` when there was none. */
  drainCollapses: question<'collapse.drained' | 'collapse.empty'>(),
  /** Takes images and documents out, oldest first. `media.absent` when there is none. */
  stripMedia: question<'media.stripped' | 'media.absent'>(),
  /**
   * A summary although the window is full. *Must* carry no media itself. One that the budget does
   * not pay for has failed like any other.
   */
  reactiveCompact: question<'compact.done' | 'compact.failed'>(),
  /** What the fallback model can do and costs; runs the model switch hooks. */
  switchModel: question<'model.switched'>(),
  /** Changed files, queued prompts, memory: what is to be read with the tool results. */
  attachments: question<'attachments.ready'>(),
  /** All stop hooks, merged. A policy hook that cannot run *must* count as blocking. */
  stopHooks: question<'hooks.passed' | 'hooks.blocked' | 'hooks.prevented'>(),
};

/** A conversation: many events over its life. */
export const conversations = {
  /**
   * One request. Sends `stream.opened`, finished blocks, then exactly one of `stream.ended` and
   * `request.failed`, and nothing after that. What the budget does not pay for is not sent, and has
   * failed as `over_budget`.
   */
  callModel: fromCallback<QueryEvent, QueryState>(() => {
    throw new Error('service not provided');
  }),
  /**
   * Runs calls while the model still streams; lives as long as the query. Answers every call
   * exactly once, also a truncated, unknown or denied one. Each tool has a deadline of its own.
   * While a person is asked: `person.asked` before, `person.answered` after.
   */
  toolExecutor: fromCallback<ToolCommand, QueryState>(() => {
    throw new Error('service not provided');
  }),
  /**
   * Says in a line what a round of tools has done (`round.described`), in the background: the chart
   * goes on without it, and the end of the query ends it. A new command *must* supersede the one
   * before. Off unless provided.
   */
  roundDescriber: fromCallback<DescribeCommand, QueryState>(() => {}),
};
export const services = { ...questions, ...conversations };
export type Question = keyof typeof questions;
export type Conversation = keyof typeof conversations;
