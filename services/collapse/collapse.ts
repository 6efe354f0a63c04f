/**
 * Context collapse: old rounds are read as their summaries, each a portion, instead of the whole
 * past as one. The summaries are prepared beside the loop (`staging.ts`), put in place when room is
 * needed (`choose-batch.ts`), and taken away again by nobody: originals stay in the log, and a
 * collapse stands only where all of them would (`project.ts`).
 */
import { type Cursor, isLoop, type QueryState } from '../../machines/state.ts';
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import { bareUuid, isInvented } from '../preprocess/revise.ts';
import { pass, type Stage, type Tell } from '../preprocess/stage.ts';
import type { TokenCounter } from '../preprocess/token-count.ts';
import { unbindThinking } from '../preprocess/unbind-thinking.ts';
import type { WindowNumbers } from '../preprocess/windows.ts';
import type { DrainAnswer } from '../recovery/drain-collapses.ts';
import { type Piece, piecesOf } from '../recovery/split-history.ts';
import { chooseBatch, isTimeToStage } from './choose-batch.ts';
import { type Place, placesOf, project } from './project.ts';
import type { Collapse, CollapseRecord, Collapses } from './record.ts';
import { planSegments, portionsOf, type Segment } from './segments.ts';
import { createStaging, type StagingDeps } from './staging.ts';

/** What was put in place. Indexes are those of the history before. */
export interface Commit {
  readonly history: Cursor;
  readonly places: readonly Place<CollapseRecord>[];
}

export interface CollapseDeps extends Omit<StagingDeps, 'onStaged' | 'onGivenUp'> {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly tell: Tell;
  readonly numbersOf: (model: string) => WindowNumbers;
  /** Of the session; what a process before has left is in it. */
  readonly collapses: Collapses;
  /** For the transcript. */
  readonly onStaged: (collapse: Collapse) => void;
  /** The model does not see these originals any more. */
  readonly onCommitted: (commit: Commit) => void;
}

export interface ContextCollapse {
  /** The stage. Waits for no summary. */
  readonly collapse: Stage;
  /** The rung: everything that is staged is put in place at once. */
  readonly drain: (state: QueryState) => Promise<DrainAnswer>;
}

/** Names under which a segment is found again, whatever becomes of its messages. */
export const namesOf = (messages: readonly LogMessage[]): readonly string[] =>
  messages.filter(({ uuid }) => !isInvented(uuid)).map(({ uuid }) => bareUuid(uuid));

/** One for each history that grows: it remembers where it has looked, and costs what is new. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: closures over one state; none of them is long
export function createCollapse(deps: CollapseDeps): ContextCollapse {
  const { log, counter, collapses } = deps;
  const view = createView(deps);
  const staging = createStaging({
    ...deps,
    onStaged: (collapse) => {
      collapses.set(collapse.id, { ...collapse, isCommitted: false });
      deps.onStaged(collapse);
      view.noteStaged(collapse.id);
    },
    onGivenUp: (reason) =>
      deps.tell({
        type: 'warning',
        text: `Old rounds could not be summed up beside the work, and it is not tried again: ${reason}`,
      }),
  });

  /** What the look at a history has found, brought up to its newest message. */
  const look = (history: Cursor): Cursor => {
    if (view.goesOn(history.head)) {
      view.learn(history.head);
      return history;
    }
    staging.forget();
    const committed = [...collapses.values()].filter(({ isCommitted }) => isCommitted);
    const projected = commit(history, committed);
    view.lookAnew(projected.head, staging.current);
    return projected;
  };

  const commit = (history: Cursor, batch: readonly CollapseRecord[]): Cursor => {
    const { messages, places } = project(log.at(history.head), batch);
    const [first] = places;
    if (!first) return history;
    const before = counter.estimate(history.head);
    const after = unbindThinking(messages, first.from);
    const { head, count } = log.rewriteFrom(history.head, after, 0);
    counter.noteRewrite(history.head, head);
    const tokens = counter.estimate(head);
    for (const { collapse } of places)
      collapses.set(collapse.id, { ...collapse, isCommitted: true });
    view.forget();
    const next = { head, count, tokens };
    deps.onCommitted({ history: next, places });
    deps.tell({
      type: 'contextEdit',
      stage: 'collapse',
      tokensFreed: Math.max(0, before - tokens),
      ids: places.flatMap(({ collapse }) => collapse.uuids),
      collapseIds: places.map(({ collapse }) => collapse.id),
      cacheTokensLost: counter.estimateMessages(after.slice(first.from)),
    });
    return next;
  };

  const freedBy = ({ tokens, message }: Collapse) =>
    Math.max(0, tokens - counter.estimateMessages([message]));

  const collapse: Stage = async (state, signal) => {
    if (signal.aborted || !isLoop(state)) return pass(state, signal);
    let history = look(state.history);
    const numbers = deps.numbersOf(state.model);
    const { ready } = view;
    const batch = {
      freed: ready.map(freedBy),
      get prefix() {
        return view.prefix;
      },
    };
    const count = chooseBatch(counter.estimate(history.head), batch, numbers);
    if (count > 0) history = look(commit(history, ready.slice(0, count)));
    if (isTimeToStage(counter.estimate(history.head), numbers)) {
      staging.add(view.plan(numbers));
      staging.wake(state);
    }
    return { type: 'stage.done', history, usd: 0 };
  };

  return {
    collapse,
    drain: async ({ history }) => {
      const staged = [...collapses.values()].filter(({ isCommitted }) => !isCommitted);
      const drained = commit(history, staged);
      if (drained === history) return { type: 'collapse.empty' };
      return { type: 'collapse.drained', history: drained };
    },
  };
}

/** What is known of the history that grows: what is staged in it, and what may still be planned. */
interface View {
  /** The history is the one that was looked at, and perhaps more. */
  goesOn(head: string): boolean;
  /** Takes up what is new since then. */
  learn(head: string): void;
  /** All of it; collapses and the segment that is being summed up are found again. */
  lookAnew(head: string, current: Segment | undefined): void;
  forget(): void;
  noteStaged(id: string): void;
  /** Staged collapses that stand in it, the oldest first. */
  readonly ready: readonly CollapseRecord[];
  /** Tokens of the prompt before the first of them. */
  readonly prefix: number;
  /** Segments of what is old by now, each once. */
  plan(numbers: WindowNumbers): readonly Segment[];
}

function createView({ log, counter, collapses }: CollapseDeps): View {
  let looked: string | undefined;
  let latest = '';
  let ready: string[] = [];
  /** Index of the first of them. */
  let begin = 0;
  /** Behind everything that is decided about. */
  let pieces: Piece[] = [];
  const sizeOf = (messages: readonly LogMessage[]) => counter.estimateMessages(messages);
  const isStaged = (id: string) => collapses.get(id)?.isCommitted === false;

  /** Staged collapses as they stand in a history. */
  const find = (messages: readonly LogMessage[], staged: readonly CollapseRecord[]) => {
    const places = placesOf(messages, staged);
    const [first] = places;
    if (first && ready.length === 0) begin = first.from;
    ready.push(...places.map(({ collapse }) => collapse.id));
  };

  /** Behind the last collapse, prepared, in place or in the making. */
  const decidedUpTo = (messages: readonly LogMessage[], current: Segment | undefined) => {
    const making = current ? [{ uuids: namesOf(current.messages) }] : [];
    const places = placesOf<{ readonly uuids: readonly string[] }>(messages, [
      ...collapses.values(),
      ...making,
    ]);
    const note = messages.findLastIndex(({ uuid }) => collapses.has(bareUuid(uuid)));
    return Math.max(0, note + 1, ...places.map(({ to }) => to));
  };

  return {
    goesOn: (head) => {
      if (looked === undefined) return false;
      const fresh = log.since(looked, head).length;
      return log.depthOf(looked) + fresh === log.depthOf(head);
    },
    learn: (head) => {
      const fresh = log.since(looked ?? '', head);
      // The last piece may go on with what is new.
      const last = pieces.pop();
      pieces.push(...piecesOf([...(last?.messages ?? []), ...fresh]));
      looked = head;
      latest = head;
    },
    lookAnew: (head, current) => {
      const messages = log.at(head);
      ready = [];
      find(
        messages,
        [...collapses.values()].filter(({ isCommitted }) => !isCommitted),
      );
      pieces = [...piecesOf(messages.slice(decidedUpTo(messages, current)))];
      looked = head;
      latest = head;
    },
    forget: () => {
      looked = undefined;
    },
    noteStaged: (id) => {
      const staged = collapses.get(id);
      if (staged) find(log.at(latest), [staged]);
    },
    get ready() {
      return ready.flatMap((id) => (isStaged(id) ? (collapses.get(id) ?? []) : []));
    },
    get prefix() {
      const { system, userContext, tools } = counter.fixedParts();
      const fixed = tools.reduce((sum, { tokens }) => sum + tokens, system + userContext);
      return fixed + sizeOf(log.at(latest).slice(0, begin));
    },
    plan: (numbers) => {
      const { segments, decided } = planSegments(pieces, sizeOf, portionsOf(numbers));
      pieces.splice(0, decided);
      return segments;
    },
  };
}
