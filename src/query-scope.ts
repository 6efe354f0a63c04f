/**
 * What the services of one query share: the session they work in, the turn they work for, and the
 * ways to the host that go around the chart.
 */
import type { QueryEvent } from '../machines/events.ts';
import type { AgentRunner } from '../services/agents/agent-runner.ts';
import type { HookEvent } from '../services/hooks/types.ts';
import type { CanUseTool, PermissionDenial } from '../services/permissions/types.ts';
import type { ToolExecutor } from '../services/tools/executor/index.ts';
import type { Gates } from './config.ts';
import type { OutputQueue } from './output-queue.ts';
import type { Session } from './session.ts';
import { type SystemWord, systemToWire } from './to-wire.ts';
import type { Turn } from './turn.ts';
import type { SDKMessage } from './wire.ts';

const BACKGROUND_HOOKS_MS = 60_000;

export interface ScopeParts {
  readonly session: Session;
  readonly turn: Turn;
  readonly queue: OutputQueue<SDKMessage>;
  readonly uuid: () => string;
  readonly now: () => Date;
  readonly onDenied: (denial: PermissionDenial) => void;
  readonly canUseTool?: CanUseTool;
  readonly includePartialMessages: boolean;
  /** Of an agent that is waited for: its questions stop the clock of its caller, too. */
  readonly caller?: { readonly scope: QueryScope; readonly toolUseId: string };
}

export class QueryScope {
  readonly session: Session;
  readonly turn: Turn;
  readonly queue: OutputQueue<SDKMessage>;
  readonly uuid: () => string;
  readonly now: () => Date;
  readonly onDenied: ScopeParts['onDenied'];
  readonly canUseTool: CanUseTool | undefined;
  readonly includePartialMessages: boolean;
  /** Ends the query as the host's abort does. Set when the chart runs. */
  interrupt: () => void = () => {};
  executor: ToolExecutor | undefined;
  /** As the query has found them: nothing changes under it. Set when its parts are made. */
  gates: Gates | undefined;
  /** Who works on tasks that are given away. */
  agents: AgentRunner | undefined;
  /** Agents that this query waits for. */
  readonly delegated = new Set<Promise<void>>();
  readonly caller: ScopeParts['caller'];
  /** Callbacks of the host that have thrown: said once. */
  readonly #broken = new Set<string>();
  /** To the chart, while the executor lives. */
  tellChart: (event: QueryEvent) => void = () => {};
  /**
   * Work beside the chart. The end of the query aborts it, and waits for its last words: what it
   * has used belongs to the turn's result. Set when the chart runs; before, nothing is begun.
   */
  beside: (work: (signal: AbortSignal) => Promise<void>) => void = () => {};

  constructor(parts: ScopeParts) {
    this.session = parts.session;
    this.turn = parts.turn;
    this.queue = parts.queue;
    this.uuid = parts.uuid;
    this.now = parts.now;
    this.onDenied = parts.onDenied;
    this.canUseTool = parts.canUseTool;
    this.includePartialMessages = parts.includePartialMessages;
    this.caller = parts.caller;
  }

  /** The same scope with other ways out. */
  with(parts: Partial<ScopeParts>): QueryScope {
    const { canUseTool, caller, ...same } = this;
    const scope = new QueryScope({
      ...same,
      ...(canUseTool ? { canUseTool } : {}),
      ...(caller ? { caller } : {}),
      ...parts,
    });
    scope.interrupt = this.interrupt;
    scope.agents = this.agents;
    return scope;
  }

  /** Hooks after sampling: asynchronous, and without a say. */
  sampled(iteration: number): void {
    this.#inTheBackground('PostSampling', { iteration });
  }

  /** For hooks that fetch a person. */
  notify(notification_type: string, message: string): void {
    this.#inTheBackground('Notification', { notification_type, message }, notification_type);
  }

  #inTheBackground(event: HookEvent, fields: Record<string, unknown>, matchQuery?: string): void {
    const signal = AbortSignal.timeout(BACKGROUND_HOOKS_MS);
    const options = matchQuery === undefined ? { signal } : { signal, matchQuery };
    void this.session.runHooks(event, fields, options).catch(() => {});
  }

  /** A person is asked, or has answered: whoever waits for this query waits for the person. */
  passQuestion(event: QueryEvent): void {
    if (!this.caller) return;
    if (event.type !== 'person.asked' && event.type !== 'person.answered') return;
    const { scope, toolUseId } = this.caller;
    const question = `${toolUseId}/${event.question}`;
    scope.tellChart(
      event.type === 'person.asked' ? { ...event, question, toolUseId } : { ...event, question },
    );
  }

  /** A callback of the host that only wants to know: what it throws is its own affair. */
  tellCallback(name: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      if (this.#broken.has(name)) return;
      this.#broken.add(name);
      this.warn(`${name} of the host threw: ${String(error)}`);
    }
  }

  system(word: SystemWord): void {
    this.queue.push(systemToWire(word, this.uuid(), this.session.id));
  }

  warn(content: string): void {
    this.system({ subtype: 'informational', level: 'warning', content });
  }

  /** What is left out unless the host wants to look into it (`verbose`). */
  explain(content: string): void {
    if (!this.session.config.verbose) return;
    this.system({ subtype: 'informational', level: 'info', content });
  }

  /** Takes back a message, or the deltas under its uuid. Nothing is said of what was never shown. */
  retract(uuid: string): void {
    if (!this.turn.retract(uuid)) return;
    this.session.transcript.retract(uuid);
    const envelope = { uuid: this.uuid(), session_id: this.session.id };
    this.queue.push({ type: 'tombstone', message: { uuid }, ...envelope });
  }
}
