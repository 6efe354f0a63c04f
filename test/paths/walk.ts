/** Walks a path: the real engine over real HTTP, with real tools and hooks, to the path's end. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HookCallbackMatcher } from '../../services/hooks/callbacks.ts';
import { defaultGates, type Gates, type QueryEngineConfig } from '../../src/config.ts';
import type { Options } from '../../src/options.ts';
import type { QueryEngine } from '../../src/query-engine.ts';
import { say } from '../../src/testing/index.ts';
import type { InvariantName } from '../../src/testing/invariants.ts';
import { type ReceivedRequest, systemText } from '../../src/testing/received-request.ts';
import { collapsing, dug, findings, onceStaged } from '../tools/collapses.ts';
import { pixel } from '../tools/host-tool.ts';
import { type Place, type Story, type Told, tell } from '../tools/story.ts';
import { Gate } from './gates.ts';
import type { WorldPath } from './generate.ts';
import { type Inside, lookInside } from './inside.ts';
import { hasFolded, isSpentBeside, type Plan, planOf, SPENDER } from './plan.ts';

export interface Walked {
  readonly told: Told;
  /** What the server received for the path itself. */
  readonly requests: readonly ReceivedRequest[];
  readonly plan: Plan;
  /** Ids of all transitions that the engine's chart has taken. */
  readonly taken: readonly string[];
  /** What was scripted and never asked for. */
  readonly leftOver: readonly string[];
}

/** A host that walks one path. */
class Walker {
  readonly #path: WorldPath;
  readonly #gate = new Gate();
  #plan: Plan | undefined;
  #inside: Inside | undefined;
  #stopHooks = 0;
  #isOn = false;
  readonly #calledHooks = new Set<string>();

  constructor(path: WorldPath) {
    this.#path = path;
  }

  async walk(): Promise<Walked> {
    const { world } = this.#path;
    const prelude = world.isLong && !hasFolded(this.#path) ? [LONG, 'tell me more'] : [];
    let leftOver: readonly string[] = [];
    const except: InvariantName[] = []; // known when there is a plan
    const told = await tell({
      gates: this.#gates,
      script: (place) => this.#script(place, prelude.length),
      prompts: [...prelude, promptOf(world.images ?? 0)],
      options: () => this.#options(),
      limits: {}, // set below, since the plan makes some of them
      config: (config) => this.#config(config),
      environment: { ESCAPEMENT_RETRY_BASE_MS: '2' },
      prepare: ({ cwd }) => writeFileSync(join(cwd, 'note.txt'), `${NOTE}\n`),
      begin: (engine) => {
        if (this.#planned().losesUsage) except.push('usage');
        this.#begin(engine, prelude.length);
      },
      except,
      after: (_, { server }) => {
        this.#gate.open();
        const errands = this.#planned().replies.length - server.requestsOf('hook_agent').length;
        const replies = this.#isErrand ? errands : server.repliesLeft;
        leftOver = this.#leftOver(replies, server.requestsOf('compact').length);
      },
    });
    const requests = told.server
      .requestsOf(this.#isErrand ? 'hook_agent' : 'loop')
      .filter((request) => !systemText(request).includes(SPENDER))
      .slice(prelude.length);
    return { told, requests, plan: this.#planned(), taken: this.#inside?.taken ?? [], leftOver };
  }

  /** All of them, whatever gates the run has: the paths are those of a chart with these. */
  get #gates(): Gates {
    const { gates } = this.#path.world;
    return { ...defaultGates, ...gates, contextCollapse: hasFolded(this.#path) };
  }

  get #isErrand(): boolean {
    return this.#path.world.chart?.querySource === 'hook_agent';
  }

  #planned(): Plan {
    if (!this.#plan) throw new Error('the story has not begun');
    return this.#plan;
  }

  #script({ cwd, home }: Pick<Place, 'cwd' | 'home'>, prelude: number) {
    const plan = planOf(this.#path, this.#gate, cwd);
    this.#plan = plan;
    const past = Array.from({ length: prelude }, (_, i) => {
      if (i < prelude - 1) return say('Noted.');
      const { saidBefore: tokens } = plan;
      return say(LONG, tokens === undefined ? {} : { usage: { input_tokens: tokens } });
    });
    const { compactions, descriptions: toolSummaries } = plan;
    // of an errand the requests say so
    if (this.#isErrand) return { hookAgents: plan.replies };
    const [first, ...rest] = plan.replies;
    if (plan.hasFolded && first) {
      return { replies: [onceStaged(home, FOLDED, first), ...rest], collapses: [findings] };
    }
    const agents = plan.agent ? [plan.agent] : [];
    return { replies: [...agents, ...past, ...plan.replies], compactions, toolSummaries };
  }

  #config({ limits }: QueryEngineConfig): Partial<QueryEngineConfig> {
    const { world } = this.#path;
    const { hasFolded } = this.#planned();
    return {
      ...(hasFolded ? collapsing({ initialMessages: dug(FOLDED + 1) }) : {}),
      limits: { ...limits, ...world.limits, ...this.#planned().limits },
    };
  }

  #options(): Options {
    const { world } = this.#path;
    const on = (hook: HookCallbackMatcher['hooks'][number]) => [{ hooks: [hook] }];
    return {
      model: MODEL,
      permissionMode: 'default',
      allowDangerouslySkipPermissions: false,
      ...(world.chart?.fallbackModel ? { fallbackModel: FALLBACK } : {}),
      ...(isSpentBeside(this.#path) ? { agents: { spender } } : {}),
      ...(world.jsonSchema ? { outputFormat: { type: 'json_schema', schema } } : {}),
      hooks: {
        PreToolUse: on((input) => this.#mayRun(String(input.tool_use_id))),
        PostToolUse: on((input) => this.#hasRun(String(input.tool_use_id))),
        PostToolUseFailure: on((input) => this.#hasRun(String(input.tool_use_id))),
        Stop: on(async () => (this.#isOn ? this.#objection() : {})),
      },
      canUseTool: async (_, input, { toolUseID }) => {
        await this.#gate.reach(this.#callOf(toolUseID).answeredAt);
        return { behavior: 'allow', updatedInput: input };
      },
    };
  }

  #callOf(id: string) {
    const call = this.#planned().calls.find((one) => one.id === id);
    if (!call) throw new Error(`nobody has planned the call ${id}`);
    return call;
  }

  async #mayRun(id: string) {
    const { permission, askedAt } = this.#callOf(id);
    this.#calledHooks.add(id);
    if (permission === 'ask') await this.#gate.reach(askedAt);
    return {
      hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: permission },
    };
  }

  async #hasRun(id: string) {
    const { resultAt, stops } = this.#callOf(id);
    if (isSpentBeside(this.#path)) await this.#planned().agentHasAsked();
    await this.#gate.reach(resultAt);
    return stops ? { continue: false, stopReason: 'seen enough' } : {};
  }

  #objection() {
    const what = this.#planned().stopHooks[this.#stopHooks];
    this.#stopHooks += 1;
    if (what === 'blocked') return { decision: 'block' as const, reason: OBJECTION };
    return what === 'prevented' ? { continue: false, stopReason: 'enough' } : {};
  }

  #begin(engine: QueryEngine, query: number): void {
    const plan = this.#planned();
    const own = engine.inspect;
    const expected = this.#path.transitions;
    const { querySource } = this.#path.world.chart ?? {};
    const inside = lookInside({
      query,
      faults: plan.faults,
      // the engine has no errands of its own that are queries
      input: querySource ? { querySource } : {},
      onTaken: (taken) => {
        this.#isOn = true;
        this.#gate.advance(taken.length);
        // it goes another way: nothing more is to be learnt, and gates would wait for ever
        if (taken.at(-1) === expected[taken.length - 1]) return;
        this.#gate.open();
        engine.interrupt();
      },
    });
    this.#inside = inside;
    engine.inspect = (event) => {
      own?.(event);
      inside.inspect(event);
    };
    for (const at of plan.interrupts) this.#gate.when(at, () => engine.interrupt());
  }

  #leftOver(replies: number, compactions: number): readonly string[] {
    const { compactions: planned, stopHooks } = this.#planned();
    const left = [
      ...(replies > 0 ? [`${replies} replies`] : []),
      ...(compactions === planned.length
        ? []
        : [`${planned.length - compactions} of ${planned.length} summaries`]),
      ...(this.#stopHooks === stopHooks.length
        ? []
        : [`${stopHooks.length - this.#stopHooks} of ${stopHooks.length} stop hooks`]),
      ...(this.#inside?.faultsLeft ?? []),
    ];
    return left;
  }
}

/** More than what stays word for word beside a summary (20,000 tokens). */
const LONG = `Remember this. ${'It is a long story. '.repeat(5_500)}`;
/** Rounds that were folded; the newest is left alone. */
const FOLDED = 4;
/** What the tools find. */
export const NOTE = 'A note in a file.';
export const [MODEL, FALLBACK] = ['claude-sonnet-4-5', 'claude-haiku-4-5'];
const spender = { description: 'spends', prompt: SPENDER };
/** What a blocking stop hook says. */
export const OBJECTION = 'The tests are red.';
const schema = { type: 'object', required: ['n'], properties: { n: { type: 'number' } } };
const promptOf = (images: number): NonNullable<Story['prompts']>[number] =>
  images === 0
    ? 'do it'
    : [{ type: 'text', text: 'what is this?' }, ...Array.from({ length: images }, () => pixel)];

export const walk = (path: WorldPath): Promise<Walked> => new Walker(path).walk();
