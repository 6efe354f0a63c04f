/**
 * From a path to what makes it happen: what the server answers, what tools, hooks and the person
 * do, and in what order. Order is made by gates, not by clocks: each thing waits until the engine's
 * chart has taken as many transitions as the path has taken before it.
 */
import { join } from 'node:path';
import type { QueryLimits } from '../../machines/limits.ts';
import {
  cut,
  httpError,
  message,
  overloaded,
  type PathStep,
  rateLimited,
  type ScriptedBlock,
  type Step,
  silent,
  text,
  thinking,
  tooLarge,
  tooLong,
  toolUse,
} from '../../src/testing/index.ts';
import type { Insert, MessageReply } from '../../src/testing/script.ts';
import { leafOf, nodeOf } from '../conformance/chart.ts';
import { Gate, NEVER } from './gates.ts';
import type { WorldPath } from './generate.ts';

/** What a service of ours does in place of its work. */
export type Fault = 'throws' | 'hangs';
export interface PlannedCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly permission: 'allow' | 'ask' | 'defer';
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly resultAt: number;
  readonly stops: boolean;
}
export interface Plan {
  /** Transitions that were taken before each step. */
  readonly before: readonly number[];
  readonly replies: readonly Step[];
  /** Answers to requests for a summary. */
  readonly compactions: readonly Step[];
  /** Answers to requests for a line about a round. */
  readonly descriptions: readonly Step[];
  /** What an agent in the background says, once the loop asks for its next answer. */
  readonly agent: Step | undefined;
  /** Resolves when that agent has asked. */
  readonly agentHasAsked: () => Promise<void>;
  /** Rounds were dug and are folded before the path begins; then there is something to commit. */
  readonly hasFolded: boolean;
  /** `<service> <number of its life, from 0>`. */
  readonly faults: ReadonlyMap<string, Fault>;
  readonly calls: readonly PlannedCall[];
  readonly stopHooks: readonly string[];
  /** The host interrupts when so many transitions were taken. */
  readonly interrupts: readonly number[];
  readonly limits: Partial<QueryLimits>;
  /** What the exchange before the prompt says it has cost, in tokens. */
  readonly saidBefore: number | undefined;
  /**
   * A stream ends before all that the server told was read: the engine hangs up in the middle of
   * it (an answer with too many blocks), or a cut or an abort overtakes its first event.
   */
  readonly losesUsage: boolean;
  /** Text blocks of the model, in order. */
  readonly texts: readonly string[];
}

/** The numbers of a window of 200,000: above what is summarised, above what is sent. */
const FULL_TOKENS = 172_000;
const BLOCKED_TOKENS = 190_000;
/** Short, and well above what a service at work needs on a busy machine. */
const LATE_MS = 400;
const failures: Readonly<Record<string, () => Step>> = {
  overloaded: () => overloaded(),
  connection: () => cut(),
  cut: () => cut(),
  auth: () => httpError(401, 'authentication_error', 'invalid x-api-key'),
  'retry after an hour': () => rateLimited('3600'),
  'prompt too long': () => tooLong(),
  'request too large': () => tooLarge(),
  'bad image': () => httpError(400, 'invalid_request_error', 'Could not process image'),
  'cap too high': () =>
    httpError(
      400,
      'invalid_request_error',
      'max_tokens: 8000 > 5000, which is the maximum allowed number of output tokens',
    ),
};
const stopReasons: Readonly<Record<string, string>> = {
  'window exceeded': 'model_context_window_exceeded',
  'tool_use, nearly all is spent': 'tool_use',
  'tool_use, more than all is spent': 'tool_use',
};
const outputOf: Readonly<Record<string, number>> = {
  'tool_use, nearly all is spent': 65_500,
  'tool_use, more than all is spent': 100_000,
};
/** More than the world's 20 cents pay for. */
const SPENT_BY_AGENT_TOKENS = 20_000;
/** Ends of a stream that its first event may not survive. */
const breaks = /^(cut|abort|after streamMs)$/;
/** Names of the bounds behind the chart's deadlines. */
const boundOf = (deadline: string) => (deadline === 'toolsMs' ? 'toolGraceMs' : deadline);

/** Works out a plan. One for each run: it fills up while it reads the path. */
class Planner {
  readonly #path: WorldPath;
  readonly #gate: Gate;
  readonly #cwd: string;
  readonly #before: number[] = [];
  readonly #replies: Step[] = [];
  readonly #compactions: Step[] = [];
  readonly #descriptions: Step[] = [];
  readonly #agentHasAsked = new Gate();
  readonly #faults = new Map<string, Fault>();
  readonly #calls: PlannedCall[] = [];
  readonly #stopHooks: string[] = [];
  readonly #interrupts: number[] = [];
  readonly #texts: string[] = [];
  readonly #lives = new Map<string, number>();
  #limits: Partial<QueryLimits> = {};
  #agent: Step | undefined;
  #losesUsage = false;
  #saidBefore: number | undefined;
  #blocks: ScriptedBlock[] = [];
  #inserts: Insert[] = [];

  constructor(path: WorldPath, gate: Gate, cwd: string) {
    this.#path = path;
    this.#gate = gate;
    this.#cwd = cwd;
    let taken = path.transitions.length - path.steps.flatMap((s) => s.transitions).length;
    for (const { transitions } of path.steps) {
      this.#before.push(taken);
      taken += transitions.length;
    }
  }

  plan(): Plan {
    const { steps } = this.#path;
    this.#saidBefore = this.#tokensBefore(0);
    for (const [i, step] of steps.entries()) {
      const leaf = leafOf(step.at);
      const service = serviceAt(leaf);
      if (leaf === 'sampling.requesting') this.#request(i, step);
      else if (leaf === 'sampling.streaming') this.#stream(i, step);
      else this.#elsewhere(i, step, service);
      if (service && !staysIn(step)) this.#lives.set(service, this.#lifeOf(service) + 1);
    }
    return {
      before: this.#before,
      replies: this.#replies,
      compactions: this.#compactions,
      descriptions: this.#descriptions,
      agent: this.#agent,
      agentHasAsked: () => this.#agentHasAsked.reach(NEVER),
      hasFolded: hasFolded(this.#path),
      faults: this.#faults,
      calls: this.#calls,
      stopHooks: this.#stopHooks,
      interrupts: this.#interrupts,
      limits: this.#limits,
      saidBefore: this.#saidBefore,
      losesUsage: this.#losesUsage,
      texts: this.#texts,
    };
  }

  #lifeOf(service: string): number {
    return this.#lives.get(service) ?? 0;
  }
  #fault(service: string, how: Fault): void {
    this.#faults.set(`${service} ${this.#lifeOf(service)}`, how);
  }
  /** A deadline of the chart is missed. */
  #late(outcome: string): void {
    this.#limits = { ...this.#limits, [boundOf(outcome.slice('after '.length))]: LATE_MS };
  }
  #at(i: number): number {
    return i < 0 ? NEVER : (this.#before[i] ?? NEVER);
  }

  // ── one request ──

  #request(i: number, step: PathStep): void {
    if (step.outcome === 'opened') return;
    if (this.#fromOutside(i, step, 'model')) return;
    if (step.service) this.#fault('model', 'throws');
    else if (step.outcome.startsWith('after ')) {
      this.#late(step.outcome);
      this.#replies.push(silent());
    } else if (step.outcome === 'abort') {
      this.#replies.push(silent());
      this.#interrupts.push(this.#at(i));
    } else this.#replies.push(this.#failure(step.outcome));
  }

  /** An agent that had the rest of the money put aside when the loop came to its next request. */
  #spender(i: number): Step {
    const until = () => {
      this.#agentHasAsked.open();
      return this.#gate.reach(this.#at(i));
    };
    return message([text('Done.')], {
      inserts: [{ after: 'message_start', until }],
      usage: { output_tokens: SPENT_BY_AGENT_TOKENS },
      when: { systemIncludes: SPENDER },
    });
  }

  #failure(name: string): Step {
    const make = failures[name];
    if (!make) throw new Error(`no server answers “${name}”`);
    return make();
  }

  #stream(i: number, step: PathStep): void {
    if (step.outcome === OVER_BUDGET) {
      this.#agent = this.#spender(i);
      return; // nothing was sent
    }
    if (step.outcome === 'abort') this.#interrupts.push(this.#at(i));
    if (step.outcome === 'described') this.#descriptions.push(this.#description(i));
    if (step.outcome.startsWith('after ')) this.#late(step.outcome);
    const block = this.#blockOf(i, step);
    if (block) {
      this.#hold(i);
      this.#blocks.push(block);
    }
    const next = this.#path.steps[i + 1];
    if (next && leafOf(next.at) === 'sampling.streaming') return;
    this.#replies.push(this.#reply(i, step));
    this.#blocks = [];
    this.#inserts = [];
  }

  /** The stream goes on when what comes before it in the path has happened. */
  #hold(i: number): void {
    const last = this.#blocks.length - 1;
    const after = last < 0 ? 'message_start' : { block: last };
    this.#inserts.push({ after, until: () => this.#gate.reach(this.#at(i)) });
  }

  #description(i: number): Step {
    const until = () => this.#gate.reach(this.#at(i));
    return message([text('Read a note')], { inserts: [{ after: 'message_start', until }] });
  }

  #blockOf(i: number, { outcome }: PathStep): ScriptedBlock | undefined {
    switch (outcome) {
      case 'text': {
        const words = `Part ${this.#texts.length + 1} of it. `;
        this.#texts.push(words);
        return text(words);
      }
      case 'thinking':
        return thinking('Let me see.');
      case 'call': {
        const call = this.#callAt(i);
        this.#calls.push(call);
        return toolUse(call.name, call.input, { id: call.id });
      }
      default:
        return undefined;
    }
  }

  /** How the stream ends. */
  #reply(i: number, { outcome }: PathStep): MessageReply {
    const last = this.#blocks.length - 1;
    this.#hold(i);
    const rest = { inserts: this.#inserts };
    const output = outputOf[outcome];
    const input = this.#tokensBefore(i + 1);
    const usage = {
      ...(output === undefined ? {} : { output_tokens: output }),
      ...(input === undefined ? {} : { input_tokens: input }),
    };
    const place = last < 0 ? ({ events: 1 } as const) : ('blocks' as const);
    const isHungUp = outcome === 'text' || outcome === 'call'; // it was one block too many
    if (isHungUp || (last < 0 && breaks.test(outcome))) this.#losesUsage = true;
    switch (outcome) {
      case 'cut':
        return message(this.#blocks, { ...rest, fault: { kind: 'cut', after: place } });
      case 'overloaded mid-stream':
        return message(this.#blocks, { ...rest, fault: { kind: 'error', after: place } });
      case 'abort':
      case 'after streamMs':
        return message(this.#blocks, { ...rest, fault: { kind: 'stall', after: place } });
      default: {
        const stopReason = stopReasons[outcome] ?? outcome;
        const isStop = /^[a-z_]+$/.test(stopReason) && outcome !== 'text' && outcome !== 'call';
        return message(this.#blocks, { ...rest, usage, ...(isStop ? { stopReason } : {}) });
      }
    }
  }

  /** The size that the exchange before step `from` must say, for what the next stages decide. */
  #tokensBefore(from: number): number | undefined {
    for (const { service, outcome, at } of this.#path.steps.slice(from)) {
      if (service === 'autocompact' && outcome !== 'ok') return FULL_TOKENS;
      if (service === 'legalize' && outcome === 'too long') return BLOCKED_TOKENS;
      if (leafOf(at).startsWith('sampling')) return undefined;
    }
    return undefined;
  }

  // ── tools ──

  #callAt(i: number): PlannedCall {
    const { steps, world } = this.#path;
    const rest = steps.slice(i + 1);
    const end = rest.findIndex(({ at }) => leafOf(at).startsWith('preprocess'));
    const mine = end < 0 ? rest : rest.slice(0, end);
    const placeOf = (pattern: RegExp) => {
      const found = mine.findIndex(({ outcome }) => pattern.test(outcome));
      return found < 0 ? NEVER : this.#at(i + 1 + found);
    };
    const has = (pattern: RegExp) => placeOf(pattern) !== NEVER;
    const tool = has(/^after toolsMs/)
      ? { name: 'Nobody', input: {} }
      : has(/wrong shape/)
        ? { name: 'StructuredOutput', input: { n: 'four' } }
        : has(/right shape/)
          ? { name: 'StructuredOutput', input: { n: 4 } }
          : world.readsFiles
            ? { name: 'Read', input: { file_path: join(this.#cwd, 'note.txt') } }
            : isSpentBeside(this.#path)
              ? { name: 'Task', input: spendingTask }
              : { name: 'Bash', input: { command: 'cat note.txt' } };
    return {
      ...tool,
      id: `toolu_path_${this.#calls.length + 1}`,
      permission: has(/^deferred/) ? 'defer' : has(/^asked/) ? 'ask' : 'allow',
      askedAt: placeOf(/^asked/),
      answeredAt: placeOf(/^answered/),
      resultAt: placeOf(/^result/),
      stops: has(/^stopped/),
    };
  }

  // ── all other states ──

  #elsewhere(i: number, step: PathStep, service: string | undefined): void {
    if (this.#fromOutside(i, step, service)) return;
    if (step.outcome === 'throws') {
      const live: Record<string, string> = { toolExecutor: 'tools', roundDescriber: 'describer' };
      this.#fault(live[step.service ?? ''] ?? step.service ?? '', 'throws');
      return;
    }
    if (step.outcome.startsWith('after ') && step.outcome !== 'after backoffMs') {
      this.#late(step.outcome);
      this.#fault(service ?? 'tools', 'hangs'); // in a state that asks nobody, tools are waited for
      return;
    }
    this.#answer(step);
  }

  /** What the host does, at a place where nothing else happens. */
  #fromOutside(i: number, { outcome }: PathStep, service: string | undefined): boolean {
    if (!['abort', 'time is up'].includes(outcome)) return false;
    if (service === 'model') return false;
    if (outcome === 'abort') this.#interrupts.push(this.#at(i));
    else this.#limits = { ...this.#limits, durationMs: LATE_MS };
    if (service) this.#fault(service, 'hangs');
    return true;
  }

  /** What a service answers: by itself, when the server and the hooks do the right thing. */
  #answer({ service, outcome }: PathStep): void {
    const hasPast = this.#path.world.isLong === true;
    switch (`${service}: ${outcome}`) {
      case 'autocompact: compacted':
      case 'reactiveCompact: done':
        this.#compactions.push(callSummary());
        return;
      case 'autocompact: could not':
      case 'reactiveCompact: failed':
        if (hasPast) this.#compactions.push(noSummary());
        return;
    }
    if (service === 'stopHooks') this.#stopHooks.push(outcome);
  }
}

const callSummary = (): Step => message([text('<summary>CONDENSED: all of it.</summary>')]);
const noSummary = (): Step => httpError(400, 'invalid_request_error', 'no summary today');

const OVER_BUDGET = 'over budget';
/** Is in the system prompt of the agent that spends the money. */
export const SPENDER = 'You are the spender.';
const spendingTask = {
  description: 'to spend',
  prompt: 'Spend it.',
  subagent_type: 'spender',
  run_in_background: true,
};
/** The loop is refused what an agent beside it has spent. */
export const isSpentBeside = ({ steps }: WorldPath): boolean =>
  steps.some(({ outcome }) => outcome === OVER_BUDGET);
/** A past of rounds that are folded beside the work. */
export const hasFolded = ({ steps }: WorldPath): boolean =>
  steps.some(({ outcome }) => outcome === 'collapses committed');

/** The service that is asked while the chart is here. */
function serviceAt(leaf: string): string | undefined {
  if (leaf.startsWith('sampling.') && /(requesting|streaming)$/.test(leaf)) return 'model';
  return nodeOf(leaf).invoke[0]?.id;
}
/** The service goes on: its state is not left. */
const staysIn = ({ outcome, at }: PathStep): boolean =>
  outcome === 'opened' ||
  (leafOf(at) === 'sampling.streaming' &&
    /while streaming|^(text|thinking|call|described)$/.test(outcome));

export const planOf = (path: WorldPath, gate: Gate, cwd: string): Plan =>
  new Planner(path, gate, cwd).plan();
