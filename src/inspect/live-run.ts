/** A run while it happens: what actors and engines tell becomes the list of entries. */
import type { AnyActorRef, AnyStateMachine, InspectionEvent } from 'xstate';
import type { LogMessage } from '../../services/messages.ts';
import type { Usage } from '../../services/model/types.ts';
import type {
  EngineEvent,
  ObservedAnswer,
  ObservedQuery,
  ObservedRequest,
} from '../engine-events.ts';
import { VERSION } from '../version.ts';
import type { SDKMessage } from '../wire.ts';
import { chartOf } from './chart-of.ts';
import { Contexts, type StepRaw, sizeOf } from './contexts.ts';
import { defaultBounds, EntryList, type ListBounds, type NewEntry } from './entry-list.ts';
import { entryOfLogMessage, entryOfMessage, hiddenMessage, type Said } from './message-entry.ts';
import { pieceCaps, preview, valueAt } from './preview.ts';
import {
  type Chart,
  type Hello,
  type Path,
  type Piece,
  PROTOCOL,
  type Preview,
  type RequestDiff,
  type Tokens,
} from './protocol.ts';
import { redactedText, redacter, type Scrub, scrubber } from './redact.ts';
import { requestDiff } from './request-diff.ts';
import type { DrawnChart, PieceOf, Run } from './run.ts';
import { type Origin, StepRecorder } from './xstate-steps.ts';

export interface LiveRunOptions {
  readonly title: string;
  readonly source?: Hello['source'];
  readonly sessionId?: string;
  readonly cwd?: string;
  readonly bounds?: Partial<ListBounds>;
  /**
   * Takes out of contexts, events, messages and texts what must not be seen. Runs before anything is
   * kept; for bodies of requests, which are not kept, when they are looked at.
   * *Contract:* pure. Called once for each object, and with texts (a prompt's begin, an error): a
   * text stays a text, else it is hidden.
   */
  readonly redact?: (value: unknown) => unknown;
  /** Values that are secret, of whatever form. */
  readonly secrets?: readonly string[];
  readonly unknown?: readonly string[];
  /** Default: true. False: requests are known by their usage only. */
  readonly hasBodies?: boolean;
  readonly now?: () => number;
}

const wallClock = (): number => performance.timeOrigin + performance.now();

interface OpenRequest {
  readonly at: number;
  openedAt: number | undefined;
  readonly iteration: number | undefined;
  readonly instance: string;
}
/** The body of a request, made when it is looked at. */
interface RequestRaw {
  readonly body: () => unknown;
  readonly previous: string | null;
}

export class LiveRun implements Run {
  readonly list: EntryList;
  readonly scrub: Scrub;
  readonly #options: LiveRunOptions;
  readonly #contexts = new Contexts();
  readonly #steps: StepRecorder;
  readonly #charts = new Map<string, DrawnChart>();
  readonly #redact: (value: unknown) => unknown;
  readonly #queries = new Map<string, ObservedQuery>();
  /** Of each of them, made once: an event of XState comes more than twenty times a step. */
  readonly #origins = new Map<string, Origin>();
  /** Which instance works for a call. */
  readonly #agents = new Map<string, string>();
  /** Who has said a message: an agent's tombstone does not name its call. */
  readonly #speakers = new Map<string, string>();
  readonly #open = new Map<string, OpenRequest>();
  /** Of each kind of request of each conversation: its number, and the last one's id. */
  readonly #requests = new Map<string, { count: number; last: string | null }>();
  readonly #attempts = new Map<string, number>();
  /** By id: the place of a request that is kept. */
  readonly #places = new Map<string, number>();
  /** The query of the session that runs. */
  #main = '';
  #isOver = false;
  readonly #onOver = new Set<() => void>();

  constructor(options: LiveRunOptions) {
    this.#options = options;
    this.scrub = scrubber(options.secrets);
    const told = { isTold: false };
    this.#redact = redacter(options.redact, () => {
      if (told.isTold) return;
      told.isTold = true;
      this.note('warning', 'the redact function threw: what it was given is not shown');
    });
    this.list = new EntryList({ ...defaultBounds, ...options.bounds }, this.scrub, (gone) => {
      this.#contexts.forget(gone);
      if (gone.kind !== 'request') return;
      for (const [id, seq] of this.#places) {
        if (seq > gone.seq) break; // they stand in the order of the list
        this.#places.delete(id);
      }
    });
    this.#steps = new StepRecorder({
      push: (entry, raw, bytes) => void this.list.push(entry, raw, bytes),
      contexts: this.#contexts,
      now: () => this.now(),
      redact: this.#redact,
      onChart: (chart) => this.#meet(chart),
    });
  }

  now(): number {
    return (this.#options.now ?? wallClock)();
  }

  /** Any observer's events. *Contract:* never throws, never waits. */
  inspect(event: InspectionEvent): void {
    this.#safely(() => this.#steps.inspect(event));
  }

  /** An actor that runs already. */
  adopt(actor: AnyActorRef): void {
    this.#safely(() => this.#steps.adopt(actor));
  }

  /** What will run: its chart can be looked at, and breakpoints be set, before it does. */
  expect(machine: AnyStateMachine): void {
    this.#safely(() => this.#meet(chartOf(machine)));
  }

  /** What an engine tells. *Contract:* never throws, never waits. */
  readonly observe = (event: EngineEvent): void => {
    this.#safely(() => this.#observe(event));
  };

  note(level: 'info' | 'warning' | 'error', text: string, instance = ''): void {
    this.#push({ kind: 'note', instance, level, text });
  }

  control(did: 'held' | 'stepped' | 'wentOn' | 'sent' | 'aborted', what: string, instance = '') {
    this.#push({ kind: 'control', instance, did, what });
  }

  /** The clocks of all machines stand still, or go on. */
  hold(isHeld: boolean): void {
    this.#steps.hold(isHeld);
  }

  actor(instance: string): AnyActorRef | undefined {
    return this.#steps.actor(instance);
  }

  /** The instance of a machine that runs. */
  instanceOf(actor: AnyActorRef): string | undefined {
    return this.#steps.idOf(actor);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  onOver(listener: () => void): () => void {
    this.#onOver.add(listener);
    return () => this.#onOver.delete(listener);
  }

  /** Nothing more will come. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const listener of this.#onOver) listener();
  }

  /** An inspector that is wrong must not break what it looks at; it says so once. */
  #hasFailed = false;
  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.note('error', `internal error of the inspector, steps may be missing: ${text}`);
    }
  }

  #push(entry: NewEntry extends infer E ? (E extends NewEntry ? Omit<E, 'at'> : never) : never) {
    this.list.push({ ...entry, at: this.now() } as NewEntry);
  }

  #meet(chart: Chart): void {
    if (!this.#charts.has(chart.key)) this.#charts.set(chart.key, { chart });
  }

  // ── the engine ──

  #observe(event: EngineEvent): void {
    switch (event.type) {
      case 'query.began':
        this.#began(event.query);
        return;
      case 'query.inspected': {
        this.#steps.inspect(event.event, this.#origins.get(event.queryId));
        return;
      }
      case 'query.ended':
        this.#queries.delete(event.queryId);
        this.#origins.delete(event.queryId);
        return;
      case 'prompt.taken': {
        const shown = this.#redact(event.message);
        this.#said(event.message, shown, () => entryOfLogMessage(shown as LogMessage));
        return;
      }
      case 'message.said': {
        const { message } = event;
        const shown = this.#redact(message);
        if (entryOfMessage(message)) {
          this.#said(message, shown, () => entryOfMessage(shown as SDKMessage));
        }
        if (message.type === 'result') this.#main = '';
        return;
      }
      case 'request.sent':
        this.#sent(event.request);
        return;
      case 'request.opened': {
        const open = this.#open.get(event.requestId);
        if (open) open.openedAt ??= this.now();
        return;
      }
      case 'request.ended':
        this.#answered(event.answer);
        return;
    }
  }

  #began({ title, ...rest }: ObservedQuery): void {
    const query = { ...rest, title: redactedText(this.#redact, title) };
    this.#queries.set(query.queryId, query);
    if (query.toolUseId === undefined) this.#main = query.queryId;
    else remember(this.#agents, query.toolUseId, query.queryId);
    this.#origins.set(query.queryId, this.#originOf(query));
  }

  #originOf({ queryId: id, toolUseId, agent, title, model, querySource }: ObservedQuery): Origin {
    const about = { id, title, model, querySource };
    if (toolUseId === undefined) return { ...about, role: 'query' } as const;
    const parent = this.#main === '' ? {} : { parent: this.#main };
    const name = agent === undefined ? {} : { agent };
    return { ...about, role: 'agent', toolUseId, ...parent, ...name } as const;
  }

  /** @param make the entry of what the host's redaction has left. */
  #said(message: SDKMessage | LogMessage, shown: unknown, make: () => Said | undefined): void {
    const entry = madeOf(make) ?? hiddenMessage(message);
    const { parent_tool_use_id: call = (message as LogMessage).parentToolUseId } = message as {
      parent_tool_use_id?: string | null;
    };
    const [first] = entry.effect === 'retracts' ? entry.affects : [];
    const instance =
      (call && this.#agents.get(call)) ||
      (first !== undefined && this.#speakers.get(first)) ||
      this.#main;
    if (instance !== this.#main) remember(this.#speakers, entry.uuid, instance);
    this.list.push({ ...entry, instance, at: this.now() }, shown, sizeOf(shown));
  }

  #sent(request: ObservedRequest): void {
    const { requestId: id, queryId, querySource, model, messages, tools, maxTokens } = request;
    const query = queryId === undefined ? undefined : this.#queries.get(queryId);
    const instance = queryId ?? '';
    const kind = `${query?.toolUseId ?? ''} ${querySource}`;
    const before = this.#requests.get(kind) ?? { count: 0, last: null };
    remember(this.#requests, kind, { count: before.count + 1, last: id });
    const isLoop = querySource === 'main' || querySource === 'subagent';
    const iteration = isLoop ? this.#steps.iterationOf(instance) : undefined;
    const tried = `${instance} ${iteration}`;
    if (isLoop) remember(this.#attempts, tried, (this.#attempts.get(tried) ?? 0) + 1);
    const at = this.now();
    const { hasBodies: hasBody = true } = this.#options;
    this.#open.set(id, { at, openedAt: undefined, iteration, instance });
    const raw: RequestRaw = { body: request.body, previous: before.last };
    const kept = this.list.push(
      {
        ...{ kind: 'request', at, instance, id, querySource, model, messages, tools, maxTokens },
        ...{ number: before.count + 1, previous: before.last, hasBody },
        ...(iteration === undefined ? {} : { iteration, attempt: this.#attempts.get(tried) ?? 1 }),
      },
      raw,
    );
    this.#places.set(id, kept.seq);
  }

  #answered({ requestId, usage, failure, ...answer }: ObservedAnswer): void {
    const open = this.#open.get(requestId);
    if (!open) return;
    this.#open.delete(requestId);
    const { model, usd, stopReason, isAborted } = answer;
    this.#push({
      ...{ kind: 'answer', instance: open.instance, request: requestId, model, usd, isAborted },
      ...{ usage: tokensOf(usage), ms: this.now() - open.at },
      ...(open.iteration === undefined ? {} : { iteration: open.iteration }),
      ...(open.openedAt === undefined ? {} : { openedMs: open.openedAt - open.at }),
      ...(stopReason === undefined ? {} : { stopReason }),
      ...(failure
        ? {
            failure: {
              class: failure.class,
              detail: redactedText(this.#redact, failure.detail),
              ...(failure.status === undefined ? {} : { status: failure.status }),
            },
          }
        : {}),
    });
  }

  // ── what the page asks for ──

  hello(): Omit<Hello, 'control' | 'state'> {
    const { title, source = 'live', sessionId, cwd, unknown = [], bounds } = this.#options;
    return {
      ...{ protocol: PROTOCOL, version: VERSION, source, title, now: this.now(), unknown },
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(cwd === undefined ? {} : { cwd }),
      charts: this.charts,
      base: this.list.base(),
      limits: { stepsMax: bounds?.stepsMax ?? defaultBounds.stepsMax },
    };
  }

  get charts(): readonly string[] {
    return [...this.#charts.keys()];
  }

  chart(key: string): DrawnChart | undefined {
    return this.#charts.get(key);
  }

  piece(of: PieceOf, path: Path): Piece {
    const whole = this.#whole(of);
    if ('missing' in whole) return { path, value: null, missing: whole.missing };
    // Down to the words of a block: a request is read, not searched.
    const caps = of.what === 'request' ? { ...pieceCaps, depth: 6 } : pieceCaps;
    return { path, value: preview(valueAt(whole.value, path), caps) };
  }

  #whole(of: PieceOf): { readonly value: unknown } | { readonly missing: string } {
    if (of.what === 'request') {
      const raw = this.#requestRaw(of.id);
      return raw ? { value: this.#redact(raw.body()) } : { missing: goneText };
    }
    const kept = this.list.at(of.seq);
    if (!kept) return { missing: goneText };
    if (of.what === 'context') return this.#contexts.at(this.list, of.seq) ?? { missing: noStep };
    const isIt = kept.kind === (of.what === 'event' ? 'step' : 'message');
    if (!isIt) return { missing: noStep };
    return { value: of.what === 'event' ? (kept.raw as StepRaw).event : kept.raw };
  }

  requestDiff(id: string): RequestDiff {
    const raw = this.#requestRaw(id);
    if (!raw) {
      return { id, previous: null, ops: [], moreOps: 0, sameMessages: 0, missing: goneText };
    }
    const before = raw.previous === null ? undefined : this.#requestRaw(raw.previous);
    const previous = before && this.#redact(before.body());
    return requestDiff(id, this.#redact(raw.body()), raw.previous, previous);
  }

  #requestRaw(id: string): RequestRaw | undefined {
    const seq = this.#places.get(id);
    if (this.#options.hasBodies === false) return undefined;
    return seq === undefined ? undefined : (this.list.at(seq)?.raw as RequestRaw | undefined);
  }

  contextAt(seq: number): Preview | undefined {
    const context = this.#contexts.at(this.list, seq);
    return context && preview(context.value, pieceCaps);
  }

  get requestIds(): readonly string[] {
    if (this.#options.hasBodies === false) return [];
    return [...this.#places.keys()];
  }
}

/** What is asked for again is new; a session of days must not grow for what nobody asks for. */
const REMEMBERED_MAX = 4_000;
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED_MAX && oldest !== undefined) map.delete(oldest);
}

/** A host's redaction may leave no message at all. */
function madeOf(make: () => Said | undefined): Said | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

const goneText = 'it is not known, or not kept any more: the inspector keeps the newest steps';
const noStep = 'there is nothing of this kind at this place';

const tokensOf = (usage: Usage | undefined): Tokens => ({
  input: usage?.input_tokens ?? 0,
  output: usage?.output_tokens ?? 0,
  cacheRead: usage?.cache_read_input_tokens ?? 0,
  cacheWrite: usage?.cache_creation_input_tokens ?? 0,
});
