/**
 * Runs the calls of the model while it still speaks: order, concurrency, drain and discard.
 * What happens to one call stands in `run-call.ts`.
 *
 * The rules of the queue: a call begins when it is added. Calls that are safe beside others run
 * together, an unsafe one alone; nothing overtakes an unsafe call. With `streaming` off the same
 * rules hold, but nothing begins before the drain.
 */

import type { QueryEvent, ToolCommand } from '../../../machines/events.ts';
import type { LogMessage, ToolUseBlock } from '../../messages.ts';
import { loadShellParser } from '../../permissions/shell/parser.ts';
import { wellFormed } from '../../well-formed.ts';
import { TOOL_DEADLINE_MS } from '../define-tool.ts';
import type { Tool, ToolInput } from '../tool.ts';
import { type Answer, answers, bounded, fingerprintOf, resultMessage, textOf } from './answer.ts';
import type { ExecutorDeps } from './deps.ts';
import { parseInput, type ReadyCall } from './permit.ts';
import { type Entry, freshRound, placeOf, type Round } from './round.ts';
import { isSafe, type Outcome, runCall, type Slot } from './run-call.ts';
import { goesOnAlone, startable } from './schedule.ts';

/** Enough to use a slow disk or network, not so many that a laptop stalls. */
const CONCURRENCY_MAX = 10;
const PROGRESS_EVERY_MS = 3_000;
/** How long `stop` waits for tools that were told to stop. */
const STOP_MS = 2_000;
/** What hooks may say beside one call. */
const CONTEXT_CHARS_MAX = 50_000;
/** Of hooks around one call: before and after, each with a deadline of 60 s of its own. */
const HOOKS_MS = 2 * 60_000;
/**
 * All hooks of a batch. Below the grace that the chart has for a round without open calls: it would
 * go on without what the hooks have to say.
 */
const BATCH_MS = 25_000;
/** For a call that will not run. */
const ANSWER_MS = 1_000;

/** A result as the seed's face hands it on. */
export interface ToolUpdate {
  readonly message: LogMessage;
}

/** A call that a hook left to the host. */
export interface DeferredCall {
  readonly id: string;
  readonly name: string;
  readonly input: ToolInput;
}

/**
 * The time that the chart should allow for a call (`deadlineMs` of `stream.toolUse`): the tool's
 * own deadline and that of the hooks around it. `input` is `undefined` when it could not be read.
 */
export function announcedDeadlineMs(tool: Tool | undefined, input: ToolInput | undefined): number {
  if (!tool || !input) return ANSWER_MS;
  try {
    return ownDeadlineMs(tool, input) + HOOKS_MS;
  } catch {
    return ANSWER_MS; // an input that it does not understand: parsing will say so
  }
}

/** What is no number would end the call at once: then it is the one of an ordinary tool. */
const ownDeadlineMs = (tool: Tool, input: ToolInput): number => {
  const deadlineMs = tool.deadlineMs(input);
  return deadlineMs > 0 ? deadlineMs : TOOL_DEADLINE_MS;
};

export class StreamingToolExecutor {
  readonly #deps: ExecutorDeps;
  readonly #send: (event: QueryEvent) => void;
  #round: Round = freshRound();
  /** Results that the seed's face has not handed on yet. */
  #untaken: ToolUpdate[] = [];
  #contexts: LogMessage[] = [];
  #deferred: readonly DeferredCall[] = [];
  #isStopped = false;
  /** While the hooks of a batch run. */
  #batch: AbortController | undefined;
  /** Tools that really run, also those whose answer was given up. */
  readonly #working = new Set<Promise<unknown>>();
  /** Woken on each result and at the end of a round. */
  #wake: (() => void) | undefined;
  #ticker: NodeJS.Timeout | undefined;
  /** What was thrown at us where nobody waits for it. */
  #bug: { readonly error: unknown } | undefined;
  readonly #whenBroken: ((error: unknown) => void)[] = [];

  /** `send` hears what the chart is to hear. The seed's face works without it. */
  constructor(deps: ExecutorDeps, send: (event: QueryEvent) => void = () => {}) {
    this.#deps = deps;
    this.#send = send;
  }

  // ── the chart's face ──

  /** What the chart says. */
  hear(command: ToolCommand): void {
    switch (command.type) {
      case 'stream.toolUse': {
        const message = this.#deps.log.get(command.message.uuid);
        const block = message.content.find((b) => b.type === 'tool_use');
        if (block) this.#add(block, message, command.deadlineMs);
        return;
      }
      case 'tools.drain':
        this.drain();
        return;
      case 'tools.discard':
        this.discard();
        return;
    }
  }

  /** No more calls will come in this round. */
  drain(): void {
    if (this.#round.isOver) this.#beginRound(); // drained twice: nothing has come since
    this.#round.isDraining = true;
    this.#pump(this.#round);
  }

  /** What hooks have said beside the calls, for the model to read after the results. Once. */
  takeContexts(): readonly LogMessage[] {
    const taken = this.#contexts;
    this.#contexts = [];
    return taken;
  }

  /**
   * Rejects when something injected throws while a call goes on (`uuid`, `now`, a listener). It is a
   * bug, and nobody is told of that call any more: whoever runs this executor fails with it.
   */
  broken(): Promise<never> {
    return new Promise((_, reject) => {
      if (this.#bug) reject(this.#bug.error);
      else this.#whenBroken.push(reject);
    });
  }

  #break(error: unknown): void {
    this.#bug ??= { error };
    for (const reject of this.#whenBroken.splice(0)) reject(error);
    this.#wake?.();
  }

  /** Calls of the last drained round that were left to the host. */
  get deferred(): readonly DeferredCall[] {
    return this.#deferred;
  }

  /**
   * The end: tells all tools to stop, and nothing more is said to the chart.
   * Resolves when they have stopped, or after 2 s.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.discard();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS);
    });
    await Promise.race([Promise.allSettled(this.#working), patience]);
    clearTimeout(timer);
  }

  // ── the seed's face ──

  /** A complete `tool_use` block. The same id again is ignored. */
  addTool(block: ToolUseBlock, message: LogMessage): void {
    this.#add(block, message, Number.POSITIVE_INFINITY);
  }

  /** Results that came since the last look, in the order in which they came. */
  getCompletedResults(): readonly ToolUpdate[] {
    return this.#untaken.splice(0);
  }

  /** Drains: every result that is still to come, each as it comes. */
  async *getRemainingResults(): AsyncGenerator<ToolUpdate, void, undefined> {
    const round = this.#round;
    this.drain();
    for (;;) {
      yield* this.getCompletedResults();
      if (this.#bug) throw this.#bug.error;
      if (round.isOver) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    yield* this.getCompletedResults();
  }

  /** Stops what runs and forgets the round. The executor can be used again. */
  discard(): void {
    const round = this.#round;
    this.#beginRound();
    round.isOver = true;
    for (const { controller } of round.entries) controller.abort();
    this.#batch?.abort();
    for (const { state } of round.entries) if (state.status === 'running') state.whenAlone?.();
    this.#watchProgress();
    this.#wake?.();
  }

  // ── the queue ──

  #beginRound(): void {
    this.#round = freshRound();
    this.#untaken = [];
  }

  #add(block: ToolUseBlock, message: LogMessage, deadlineMs: number): void {
    if (this.#isStopped) return;
    if (this.#round.isComplete) this.#beginRound();
    const round = this.#round;
    if (round.entries.some((entry) => entry.block.id === block.id)) return;
    const entry: Entry = {
      ...{ block, message, deadlineMs, input: block.input },
      controller: new AbortController(),
      state: { status: 'unparsed' },
    };
    round.entries.push(entry);
    void this.#prepare(entry)
      .catch((error: unknown) => {
        entry.state = { status: 'refused', answer: answers.ownFault(error) };
      })
      .then(() => this.#pump(round))
      .catch((error: unknown) => this.#break(error));
  }

  /**
   * Is there such a tool, and does it understand the input? Else it is answered without running.
   */
  async #prepare(entry: Entry): Promise<void> {
    const { block, message } = entry;
    const refuse = (answer: Answer) => {
      entry.state = { status: 'refused', answer };
    };
    if (message.unreadable) return refuse(answers.unreadable(message.unreadable));
    const tools = this.#deps.tools();
    const tool = tools.find(({ name }) => name === block.name);
    if (!tool) return refuse(answers.unknownTool(block.name, tools));
    const parsed = await parseInput(tool, block.input);
    if (!parsed.ok) return refuse(answers.badInput(tool, parsed.message));
    const { input } = parsed;
    // Without its parser no shell command is known to be safe beside others.
    if (touchesShell(tool, input)) await loadShellParser();
    const call: ReadyCall = { id: block.id, tool, input, signal: entry.controller.signal };
    entry.input = input;
    entry.state = { status: 'ready', call, isSafe: isSafe(call) };
  }

  /** Begins whatever may begin now, and ends the round when all is done. */
  #pump(round: Round): void {
    if (this.#isGone(round) || round.isComplete) return;
    if (this.#deps.streaming || round.isDraining) {
      this.#answerWithoutRunning(round);
      if (this.#isGone(round) || round.isComplete) return; // the listener may have come back at once
      const places = round.entries.map(placeOf);
      for (const index of startable(places, this.#deps.concurrencyMax ?? CONCURRENCY_MAX)) {
        const entry = round.entries[index];
        if (entry) this.#start(round, entry);
      }
      this.#letGoOn(round);
    }
    this.#watchProgress();
    const isDone = round.entries.every((entry) => isFinal(entry));
    if (round.isDraining && isDone) {
      void this.#complete(round).catch((error: unknown) => this.#break(error));
    }
  }

  /** Refused ones, and all that wait when the round was halted. */
  #answerWithoutRunning(round: Round): void {
    for (const entry of round.entries) {
      const { state } = entry;
      if (state.status === 'refused') this.#answer(round, entry, state.answer);
      else if (state.status === 'ready' && round.halted !== undefined) {
        this.#answer(round, entry, answers.notRun(round.halted));
      }
    }
  }

  #letGoOn(round: Round): void {
    const index = goesOnAlone(round.entries.map(placeOf));
    const state = index === undefined ? undefined : round.entries[index]?.state;
    if (state?.status === 'running') state.whenAlone?.();
  }

  #start(round: Round, entry: Entry): void {
    const { state } = entry;
    if (state.status !== 'ready') return;
    entry.state = { status: 'running', call: state.call, isSafe: state.isSafe };
    void runCall(state.call, this.#deps, this.#slotFor(round, entry, state.call))
      .then((outcome) => this.#finish(round, entry, outcome))
      .catch((error: unknown) => this.#break(error));
  }

  #slotFor(round: Round, entry: Entry, call: ReadyCall): Slot {
    const say = (event: QueryEvent) => {
      if (!this.#isGone(round)) this.#send(event);
    };
    /** Only while it runs: what is answered stays answered. */
    const update = (change: object) => {
      if (entry.state.status === 'running') entry.state = { ...entry.state, ...change };
    };
    return {
      deadlineMs: (input) => Math.min(ownDeadlineMs(call.tool, input), entry.deadlineMs),
      // With the times: the host's clock stands still in between.
      asked: (question) =>
        say({ type: 'person.asked', question, toolUseId: call.id, atMs: this.#deps.now() }),
      answered: (question) => say({ type: 'person.answered', question, atMs: this.#deps.now() }),
      halted: () => round.halted,
      alone: () =>
        new Promise((resolve) => {
          const whenAlone = () => {
            update({ whenAlone: undefined });
            resolve();
          };
          update({ isSafe: false, whenAlone });
          this.#pump(round);
        }),
      amend: (input) => {
        entry.input = input;
        if (!this.#isGone(round)) this.#deps.amendToolUse(entry.message.uuid, input);
      },
      working: (input, promise) => {
        this.#working.add(promise);
        void promise.finally(() => this.#working.delete(promise));
        const { state } = entry;
        const hasSpoken = state.status === 'running' && state.work !== undefined;
        if (!hasSpoken) update({ work: this.#workOf(gistOf(call.tool, input)) });
        this.#watchProgress();
      },
      progress: (gist) => {
        const { state } = entry;
        const known = state.status === 'running' ? state.work : undefined;
        update({ work: known ? { ...known, gist } : this.#workOf(gist) });
      },
    };
  }

  #workOf(gist: string) {
    return { sinceMs: this.#deps.now(), gist };
  }

  #finish(round: Round, entry: Entry, outcome: Outcome): void {
    if (this.#isGone(round)) return;
    const { block } = entry;
    entry.input = outcome.input;
    this.#keepContexts(outcome.contexts);
    if (outcome.kind === 'deferred') {
      entry.state = { status: 'deferred', input: outcome.input };
      this.#pump(round);
      return;
    }
    if (outcome.isDenial) {
      const denial = { tool_name: block.name, tool_use_id: block.id, tool_input: outcome.input };
      this.#deps.onDenied(denial);
    }
    if (outcome.halts !== undefined) round.halted ??= 'a hook has stopped the turn.';
    if (outcome.halts !== undefined || outcome.stops !== undefined) round.isStopped = true;
    if (outcome.interrupts) round.halted ??= 'the person who was asked has stopped the turn.';
    this.#answer(round, entry, outcome.answer);
    if (outcome.interrupts) this.#deps.onInterrupt();
    this.#pump(round);
  }

  /** Exactly once for each call: into the log, then to whoever listens. */
  #answer(round: Round, entry: Entry, answer: Answer): void {
    if (entry.state.status === 'answered') return;
    entry.state = { status: 'answered', answer };
    const { block, input } = entry;
    const schemaTry = this.#schemaTryOf(entry, answer);
    const stamp = { uuid: this.#deps.uuid(), nowMs: this.#deps.now() };
    const message = this.#deps.log.put(resultMessage(block.id, answer, stamp));
    this.#untaken.push({ message });
    const { uuid, role, kind } = message;
    if (!this.#isGone(round)) {
      this.#send({
        type: 'tool.result',
        id: block.id,
        message: { uuid, role, kind, toolUseId: block.id },
        fingerprint: fingerprintOf(block.name, input, answer),
        ...(schemaTry ? { schemaTry } : {}),
      });
    }
    this.#wake?.();
  }

  #schemaTryOf({ block, input }: Entry, answer: Answer): 'valid' | 'invalid' | undefined {
    const wanted = this.#deps.structuredOutput;
    if (block.name !== wanted?.toolName) return undefined;
    if (answer.isError) return 'invalid';
    wanted.onValue(input as ToolInput); // it was parsed, else it would be an error
    return 'valid';
  }

  #keepContexts(texts: readonly string[]): void {
    for (const text of texts) {
      if (text.trim() === '') continue;
      this.#contexts.push({
        uuid: this.#deps.uuid(),
        role: 'user',
        kind: 'note',
        origin: 'hook',
        timestamp: new Date(this.#deps.now()).toISOString(),
        content: [{ type: 'text', text: bounded(wellFormed(text), CONTEXT_CHARS_MAX) }],
        isMeta: true,
      });
    }
  }

  /** All answered: the hooks of the batch, then the last word of the round. */
  async #complete(round: Round): Promise<void> {
    round.isComplete = true;
    this.#watchProgress();
    await this.#runBatchHooks(round);
    if (this.#isGone(round)) return;
    this.#deferred = round.entries.flatMap(({ block, state }) =>
      state.status === 'deferred' ? [{ id: block.id, name: block.name, input: state.input }] : [],
    );
    round.isOver = true;
    this.#send(
      round.isStopped
        ? { type: 'tools.stopped' }
        : this.#deferred.length > 0
          ? { type: 'tools.deferred', ids: this.#deferred.map(({ id }) => id) }
          : { type: 'tools.drained' },
    );
    this.#wake?.();
  }

  async #runBatchHooks(round: Round): Promise<void> {
    const calls = round.entries.flatMap(({ block, input, state }) =>
      state.status === 'answered'
        ? [{ ...callFields(block, input), tool_response: textOf(state.answer.content) }]
        : [],
    );
    if (calls.length === 0) return;
    const controller = new AbortController();
    this.#batch = controller;
    const deadline = setTimeout(() => controller.abort(), BATCH_MS);
    const verdict = await this.#deps.runHooks(
      'PostToolBatch',
      { tool_calls: calls },
      { signal: controller.signal },
    );
    clearTimeout(deadline);
    this.#batch = undefined;
    if (this.#isGone(round)) return;
    for (const warning of verdict.warnings) this.#deps.onWarning(warning);
    this.#keepContexts([...verdict.blocked, ...verdict.additionalContext]);
    if (verdict.prevented) round.isStopped = true;
  }

  /** Discarded or at the end: nobody listens to it any more. */
  #isGone(round: Round): boolean {
    return this.#isStopped || round !== this.#round;
  }

  // ── progress ──

  /** Ticks only while a tool works. */
  #watchProgress(): void {
    const isNeeded = this.#deps.onProgress !== undefined && this.#works().length > 0;
    if (isNeeded && !this.#ticker) {
      const everyMs = this.#deps.progressEveryMs ?? PROGRESS_EVERY_MS;
      this.#ticker = setInterval(() => this.#tellProgress(), everyMs).unref();
    } else if (!isNeeded && this.#ticker) {
      clearInterval(this.#ticker);
      this.#ticker = undefined;
    }
  }

  #works() {
    return this.#round.entries.flatMap(({ block, state }) =>
      state.status === 'running' && state.work ? [{ block, ...state.work }] : [],
    );
  }

  #tellProgress(): void {
    try {
      for (const { block, sinceMs, gist } of this.#works()) {
        const elapsedSeconds = Math.round((this.#deps.now() - sinceMs) / 1_000);
        this.#deps.onProgress?.(block.id, block.name, elapsedSeconds, gist);
      }
    } catch (error) {
      this.#break(error); // thrown into a timer it would end the host's process
    }
  }
}

const touchesShell = (tool: Tool, input: ToolInput): boolean => {
  try {
    return tool.touches(input).kind === 'shell';
  } catch {
    return false;
  }
};

const isFinal = ({ state }: Entry) => state.status === 'answered' || state.status === 'deferred';

const callFields = (block: ToolUseBlock, input: unknown) => ({
  tool_name: block.name,
  tool_input: input,
  tool_use_id: block.id,
});

const gistOf = (tool: Tool, input: ToolInput): string => {
  try {
    return tool.gist(input);
  } catch {
    return '';
  }
};
