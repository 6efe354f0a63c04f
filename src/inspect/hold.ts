/**
 * Breakpoints: a query is held before it enters a state. What it would hear waits in line, services
 * do not begin, and its clock stands still, so that no deadline runs out because somebody looks.
 * All queries are held together: an agent that is held must not cost its caller its deadlines.
 *
 * An abort never waits: it goes to the chart itself, and ends what waits here.
 *
 * The process lives as long as something is held: else it would end without an answer, for the
 * timers that stand still are gone and whoever looks keeps nobody alive.
 */
import type { AnyMachineSnapshot } from 'xstate';
import type { Clock, HeldQuery, QueryHold } from '../query-hold.ts';
import { activeNodes } from '../xstate-inside.ts';
import { PausableClock } from './pausable-clock.ts';
import type { ControlState, Held } from './protocol.ts';
import { type Foreseen, foresee } from './xstate-steps.ts';

type Bound = Parameters<HeldQuery['bind']>[0];
type Heard = Parameters<HeldQuery['deliver']>[0];

/** Any that a timer can have: what counts is that there is one. */
const AWAKE_MS = 60_000;

interface Waiting {
  readonly query: Query;
  readonly label: string;
  readonly event?: Heard;
  readonly run: () => void;
}
interface Query {
  readonly id: string;
  readonly clock: PausableClock;
  actor: Bound | undefined;
}

export interface HoldEvents {
  /** Something of `state` has changed. */
  readonly onChange: () => void;
  readonly onHeld: (instance: string, before: string | null) => void;
  readonly onGone: () => void;
}

export class Hold implements QueryHold {
  readonly #events: HoldEvents;
  readonly #queries = new Set<Query>();
  readonly #breakpoints = new Set<string>();
  #waiting: Waiting[] = [];
  #held: Pick<Held, 'instance' | 'since' | 'before'> | null = null;
  /** One thing may pass, then it is held again. */
  #isStepping = false;
  /** No query runs: the next one is held at its begin. */
  #stopsNext = false;
  /** A timer is being told: what begins through it is looked at first. */
  #isInTimer = false;
  /** Until the chart has heard what was let go last. */
  #hearing: NodeJS.Immediate | undefined;
  #awake: NodeJS.Timeout | undefined;

  constructor(events: HoldEvents) {
    this.#events = events;
  }

  get state(): ControlState {
    const { breakpoints, held } = { breakpoints: [...this.#breakpoints], held: this.#held };
    if (!held) return { breakpoints, held };
    const [first] = this.#waiting;
    const next = first && this.#foreseen(first);
    return {
      breakpoints,
      held: {
        ...held,
        waiting: this.#waiting.map(({ label }) => label),
        ...(next ? { next: { edges: next.edges, to: next.to } } : {}),
      },
    };
  }

  get isHeld(): boolean {
    return this.#held !== null;
  }

  // ── what a person says ──

  break(state: string, isOn: boolean): void {
    if (isOn) this.#breakpoints.add(state);
    else this.#breakpoints.delete(state);
    this.#events.onChange();
  }

  /** At the next chance: the query that is asked for first is held. */
  stop(): void {
    this.#isStepping = false;
    const [query] = this.#queries;
    if (!query) this.#stopsNext = true;
    else if (!this.#held) this.#hold(query, null);
  }

  /** Lets one thing through that waits, or the next that comes. */
  step(): void {
    if (!this.#held) return;
    const next = this.#waiting.shift();
    if (next) next.run();
    else {
      this.#isStepping = true;
      this.#release();
    }
    this.#events.onChange();
  }

  go(): void {
    this.#stopsNext = false;
    if (!this.#held) return;
    this.#isStepping = false;
    this.#release();
    // What it was held for passes, else it would be held for it again.
    this.#letGo(true);
    this.#events.onChange();
  }

  /** Nobody is there who could let go: nothing is held, nor will be. */
  abandon(): void {
    this.#breakpoints.clear();
    this.#stopsNext = false;
    if (this.#held) this.go();
    else this.#events.onChange();
  }

  // ── what queries ask ──

  begin(queryId: string): HeldQuery {
    const clock = new PausableClock((fire) => this.#inTimer(query, fire));
    const query: Query = { id: queryId, clock, actor: undefined };
    this.#queries.add(query);
    if (this.#held) clock.pause();
    if (this.#stopsNext) this.#hold(query, null);
    this.#stopsNext = false;
    return {
      clock: clock satisfies Clock,
      bind: (actor) => {
        query.actor = actor;
      },
      start: (service, run, signal) => {
        const waiting = { query, label: `start ${service}`, run };
        if (this.#held || this.#isInTimer) this.#wait(waiting, signal);
        else run();
      },
      deliver: (event, run, signal) => {
        const waiting = { query, label: event.type, event, run };
        const isBehind = this.#held !== null || this.#hearing !== undefined;
        if (isBehind || this.#isHit(waiting)) this.#wait(waiting, signal);
        else this.#pass(waiting);
      },
      end: () => this.#end(query),
    };
  }

  #pass({ query, run }: Waiting): void {
    run();
    if (this.#isStepping) this.#hold(query, null);
  }

  #wait({ run, ...rest }: Waiting, signal: AbortSignal): void {
    if (signal.aborted) return;
    const leave = () => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      this.#events.onChange();
    };
    const waiting: Waiting = {
      ...rest,
      run: () => {
        signal.removeEventListener('abort', leave);
        run();
      },
    };
    this.#waiting.push(waiting);
    signal.addEventListener('abort', leave, { once: true });
    this.#events.onChange();
  }

  /**
   * In line, and one event at a time: an answer is heard some microtasks after it may be, and only
   * then it is known where the next one leads. A service that begins is heard by nobody.
   * @param isFirst the first one passes, whatever it leads to.
   */
  #letGo(isFirst = false): void {
    if (this.#hearing) return;
    for (let passes = isFirst; !this.#held; passes = false) {
      const [next] = this.#waiting;
      if (!next || (!passes && this.#isHit(next))) return;
      this.#waiting.shift();
      next.run();
      if (!next.event) continue;
      this.#hearing = setImmediate(() => {
        this.#hearing = undefined;
        this.#letGo();
        this.#events.onChange();
      });
      return;
    }
  }

  #isHit(waiting: Waiting): boolean {
    if (this.#breakpoints.size === 0) return false;
    const before = this.#foreseen(waiting)?.enters.find((state) => this.#breakpoints.has(state));
    if (before === undefined) return false;
    this.#hold(waiting.query, before);
    return true;
  }

  #foreseen({ query, event }: Waiting): Foreseen | undefined {
    const snapshot = query.actor?.getSnapshot();
    if (!event || snapshot?.status !== 'active') return undefined;
    return foresee(snapshot as unknown as AnyMachineSnapshot, event);
  }

  /** What a timer does cannot be foreseen: the state is entered, and its services wait. */
  #inTimer(query: Query, fire: () => void): void {
    const before = this.#active(query);
    this.#isInTimer = true;
    try {
      fire();
    } finally {
      this.#isInTimer = false;
    }
    const entered = this.#active(query).find(
      (state) => !before.includes(state) && this.#breakpoints.has(state),
    );
    if (entered !== undefined) this.#hold(query, entered);
    else if (this.#isStepping) this.#hold(query, null);
    else this.#letGo();
  }

  #active({ actor }: Query): readonly string[] {
    return actor ? activeNodes(actor.getSnapshot()).map(({ id }) => id) : [];
  }

  #hold({ id: instance }: Query, before: string | null): void {
    this.#isStepping = false;
    this.#held = { instance, since: Date.now(), before };
    this.#awake ??= setInterval(() => {}, AWAKE_MS);
    for (const { clock } of this.#queries) clock.pause();
    this.#events.onHeld(instance, before);
    this.#events.onChange();
  }

  #release(): void {
    this.#held = null;
    clearInterval(this.#awake);
    this.#awake = undefined;
    for (const { clock } of this.#queries) clock.resume();
    this.#events.onGone();
  }

  /** A hold ends with what was held: the next query of the session is not held for it. */
  #end(query: Query): void {
    this.#queries.delete(query);
    query.clock.clear();
    this.#waiting = this.#waiting.filter((one) => one.query !== query);
    if (this.#held?.instance === query.id || this.#queries.size === 0) this.go();
  }
}
