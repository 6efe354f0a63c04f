/**
 * What the inspector's server and its page say to each other. Types and constants only: this file
 * is read by both, and by whoever wants to read a recording.
 *
 * The whole run is one list of entries, numbered by `seq` without gaps and ordered by time. What
 * stands at a place of the list is all that is needed to show the run as it was there, so that
 * going back in time is reading a shorter list. A recording is the same list as lines of JSON.
 *
 * No context and no body of a request is ever in the list: those are fetched piece by piece.
 */
/** Raised by any change that an older page could not read. */
export const PROTOCOL = 1;

// ── values ──

/**
 * A value, cut to a size that can be shown. What JSON cannot say, and what was cut, is an object
 * with the one key `$` that says what stood there; an own key `$` of a value is sent as `$$`.
 */
export type Preview =
  | null
  | boolean
  | number
  | string
  | readonly Preview[]
  | { readonly [key: string]: Preview };

/** What may stand under `$`. All of it is inside a `Preview`, as `{ $: Cut }`. */
export type Cut =
  | { readonly is: 'undefined' | 'cycle' }
  | { readonly is: 'number' | 'bigint' | 'symbol' | 'function' | 'actor'; readonly text: string }
  /** Of a long string its begin, and how long it is. */
  | { readonly is: 'string'; readonly length: number; readonly head: string }
  | { readonly is: 'error'; readonly name: string; readonly message: string }
  | { readonly is: 'bytes'; readonly length: number }
  /** Of a long array its end: `tail[0]` is item `length - tail.length`. */
  | { readonly is: 'array'; readonly length: number; readonly tail: readonly Preview[] }
  /** Of a large object its first keys. Without `head`: too deep to be looked into. */
  | {
      readonly is: 'object';
      readonly size: number;
      readonly head?: { readonly [key: string]: Preview };
    }
  | { readonly is: 'map' | 'set'; readonly size: number; readonly head: readonly Preview[] };

/** A place in a value. */
export type Path = readonly (string | number)[];

/** One change of a context or of a request. Values are previews. */
export type DiffOp =
  /** The whole value is new: the first step of an instance. */
  | { readonly op: 'init'; readonly path: Path; readonly to: Preview }
  | { readonly op: 'add'; readonly path: Path; readonly to: Preview }
  | { readonly op: 'set'; readonly path: Path; readonly from: Preview; readonly to: Preview }
  | { readonly op: 'remove'; readonly path: Path; readonly from: Preview }
  /** An array has grown at its end, from length `from` to length `to`; `items`: at most three. */
  | {
      readonly op: 'append';
      readonly path: Path;
      readonly from: number;
      readonly to: number;
      readonly items: readonly Preview[];
    }
  /** An array has lost its end. */
  | { readonly op: 'truncate'; readonly path: Path; readonly from: number; readonly to: number };

/** Ops of one diff that are sent; `Step.moreOps` counts the others. */
export const DIFF_OPS_MAX = 24;

// ── the chart ──

/** A state of a chart. Ids are XState's: `query.sampling.streaming`. */
export interface ChartNode {
  readonly id: string;
  readonly key: string;
  readonly parent: string | null;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly initial: string | null;
  readonly tags: readonly string[];
  readonly description?: string;
  /** Services that run while it is active. */
  readonly invoke: readonly { readonly id: string; readonly src: string }[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
}

/** A transition of a chart, also one that has never been taken. */
export interface ChartEdge {
  /** `source|event|index`: index among the transitions of this state for this event. */
  readonly id: string;
  readonly source: string;
  /** Itself when it has no target: then `targetless`. The first of several. */
  readonly target: string;
  readonly targetless: boolean;
  /** XState's name of the event; '' for `always`. */
  readonly event: string;
  readonly kind: 'event' | 'always' | 'done' | 'error' | 'after';
  /** The event in words: `after stageMs`, `snip failed`, `stage.done`. */
  readonly label: string;
  readonly guard?: string;
  readonly actions: readonly string[];
  readonly reenter: boolean;
  /** From `meta.reason` and `meta.why`: why an iteration goes on or a query ends. */
  readonly reason?: string;
  readonly why?: string;
  readonly description?: string;
}

/** A machine as it is drawn. Two machines with the same id have different keys. */
export interface Chart {
  /** `<machine id>@<hash of nodes and edges>`: the same chart, the same key, in every process. */
  readonly key: string;
  readonly id: string;
  readonly nodes: readonly ChartNode[];
  readonly edges: readonly ChartEdge[];
}

// ── the list of entries ──

interface EntryBase {
  /** From 0, without gaps: place in the run. */
  readonly seq: number;
  /** ms since 1970, with fractions. */
  readonly at: number;
  /** Whose it is: `Instance.id`. `''`: of the session itself (between queries). */
  readonly instance: string;
}

/**
 * One running machine: a turn's query, an agent's query, or any actor of a host. Said again when
 * something of it changes; the newest counts.
 */
export interface InstanceEntry extends EntryBase {
  readonly kind: 'instance';
  /** `query`: of a turn. `agent`: works for a call of another instance. `actor`: of a host. */
  readonly role: 'query' | 'agent' | 'actor';
  /** For people: the prompt's first words, the agent's name and task, the machine's id. */
  readonly title: string;
  readonly parent: string | null;
  /** `Chart.key`; null for an actor that is no machine. */
  readonly chart: string | null;
  readonly model?: string;
  readonly querySource?: string;
  /** Of an agent: the call that it works for. */
  readonly toolUseId?: string;
  readonly agent?: string;
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Of an ended query: its terminal reason. */
  readonly reason?: string;
}

/** A transition that fired, in order, within one step. */
export interface TakenEdge {
  readonly id: string;
  readonly reason?: string;
  readonly why?: string;
}

/** One macrostep: an event was taken, and the machine came to rest again. */
export interface Step extends EntryBase {
  readonly kind: 'step';
  /** From 0, in its instance. */
  readonly n: number;
  readonly event: string;
  readonly eventPreview: Preview;
  /** Active leaf states before; empty for the first step. */
  readonly from: readonly string[];
  /** All active states after, outermost first. */
  readonly on: readonly string[];
  /** Active leaf states after. */
  readonly to: readonly string[];
  readonly edges: readonly TakenEdge[];
  readonly actions: readonly string[];
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly diff: readonly DiffOp[];
  /** Ops that were left out of `diff`; 0: all are there. */
  readonly moreOps: number;
  /** Of the last edge that has one. */
  readonly reason?: string;
  readonly why?: string;
  /** Where the session's iterations are counted (our own chart). */
  readonly iteration?: number;
}

/** Something that the host heard. `retracted` etc. are said by later messages: see `affects`. */
export interface MessageEntry extends EntryBase {
  readonly kind: 'message';
  readonly uuid: string;
  readonly type: string;
  readonly subtype?: string;
  /** What it does to the conversation. */
  readonly effect:
    | 'says' //       a block of the model, a prompt, a result of a tool
    | 'retracts' //   `affects`: uuids that are taken back (tombstone, supersedes)
    | 'compacts' //   a summary stands for all that was said before
    | 'edits' //      a stage changed what the model sees; `affects`: ids of what was changed
    | 'retries' //    the request is made again after a wait
    | 'continues' //  another iteration, and why
    | 'ends' //       the result of a turn
    | 'tells'; //     everything else: status, hooks, warnings
  readonly affects: readonly string[];
  /** Who speaks, for a line in the conversation. */
  readonly speaker: 'user' | 'model' | 'tool' | 'engine';
  /** One line, at most 240 characters. */
  readonly gist: string;
  /** The blocks of what was said; empty for what has none. Texts up to 4,000 characters. */
  readonly blocks: readonly MessageBlock[];
  /** What else the message says (`api_retry`, `compact_boundary`, …). */
  readonly details: Preview;
  /** True when `blocks` or `details` were cut: the whole is at `routes.message`. */
  readonly isCut: boolean;
}

export type MessageBlock =
  | { readonly type: 'text' | 'thinking'; readonly text: string; readonly length: number }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: Preview;
    }
  | {
      readonly type: 'tool_result';
      readonly toolUseId: string;
      readonly isError: boolean;
      readonly text: string;
      readonly length: number;
    }
  | { readonly type: 'other'; readonly name: string; readonly value: Preview };

/** A request to a model has begun. Its body is at `routes.request`. */
export interface RequestEntry extends EntryBase {
  readonly kind: 'request';
  readonly id: string;
  /** `main`, `subagent`, `compact`, `hook_agent`, … */
  readonly querySource: string;
  readonly model: string;
  /** From 1: the n-th of this `querySource` in this instance. */
  readonly number: number;
  /** Of the loop, from 1. Absent for errands (a summary). */
  readonly iteration?: number;
  /** From 1: requests of this iteration so far. Above 1 it is a retry. */
  readonly attempt?: number;
  readonly messages: number;
  readonly tools: number;
  readonly maxTokens: number;
  /** The request of the same `querySource` before it, for a diff. */
  readonly previous: string | null;
  /** False in a recording that does not hold the bodies: then why, in `Hello.unknown`. */
  readonly hasBody: boolean;
}

/** A request has ended: what it has used. One for each `RequestEntry`. */
export interface AnswerEntry extends EntryBase {
  readonly kind: 'answer';
  readonly request: string;
  readonly model: string;
  readonly iteration?: number;
  /** What was reported; all 0 when nothing was. */
  readonly usage: Tokens;
  /** Dollars; null when the model's price is not known. */
  readonly usd: number | null;
  readonly stopReason?: string;
  /** Why it failed: class and detail. */
  readonly failure?: { readonly class: string; readonly detail: string; readonly status?: number };
  readonly isAborted: boolean;
  /** From the request to the first sign of the answer, and to its end. */
  readonly openedMs?: number;
  readonly ms: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** A service at work: begun, then said again when it has ended; the newest of an `id` counts. */
export interface ServiceEntry extends EntryBase {
  readonly kind: 'service';
  readonly id: string;
  /** The chart's name for it: `callModel`, `autocompact`. */
  readonly name: string;
  /** The state that invoked it; null when unknown. */
  readonly state: string | null;
  /** From 1: the n-th life of this service in this iteration. */
  readonly attempt: number;
  readonly status: 'active' | 'done' | 'error' | 'stopped';
  readonly startedAt: number;
  readonly endedAt?: number;
  /** What it answered: an event's type, or a preview of its output. */
  readonly outcome?: Preview;
  readonly error?: string;
}

/** A wait with a bound: begun, then said again when it is over; the newest of an `id` counts. */
export interface DeadlineEntry extends EntryBase {
  readonly kind: 'deadline';
  readonly id: string;
  /** `stageMs`, or the event that will come (`time.ranOut`). */
  readonly name: string;
  /** The state whose wait it is; null for a delayed event of the machine itself. */
  readonly state: string | null;
  readonly ms: number;
  readonly startedAt: number;
  /** `held`: the clock stands still, and `leftMs` are left. */
  readonly status: 'running' | 'held' | 'met' | 'ranOut';
  /** While it runs: when it will run out. */
  readonly endsAt?: number;
  readonly leftMs?: number;
}

/** The machine was held, let go, or was sent something from the page. */
export interface ControlEntry extends EntryBase {
  readonly kind: 'control';
  readonly did: 'held' | 'stepped' | 'wentOn' | 'sent' | 'aborted';
  /** Before which state, or which event was sent. */
  readonly what: string;
}

/** For people who read the recording: a gap, a divergence, a redact function that threw. */
export interface NoteEntry extends EntryBase {
  readonly kind: 'note';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
}

export type Entry =
  | InstanceEntry
  | Step
  | MessageEntry
  | RequestEntry
  | AnswerEntry
  | ServiceEntry
  | DeadlineEntry
  | ControlEntry
  | NoteEntry;

// ── from the server ──

/** What was true before the first entry that is still kept. All empty when nothing was dropped. */
export interface Base {
  /** The first `seq` that is kept. */
  readonly seq: number;
  readonly instances: readonly InstanceBase[];
}

export interface InstanceBase {
  readonly instance: InstanceEntry;
  /** Active states there, outermost first. */
  readonly on: readonly string[];
  /** Steps taken before. */
  readonly steps: number;
  /** How often each edge was taken before. */
  readonly taken: Readonly<Record<string, number>>;
  readonly reasons: Readonly<Record<string, number>>;
  readonly tokens: Tokens;
  readonly usd: number;
  readonly requests: number;
}

/** The first thing that a page hears (SSE `event: hello`), and the first line of a recording. */
export interface Hello {
  readonly protocol: typeof PROTOCOL;
  /** The product's version. */
  readonly version: string;
  readonly source: 'live' | 'recording' | 'journal';
  readonly title: string;
  readonly sessionId?: string;
  readonly cwd?: string;
  /** Server's clock, ms since 1970: a page on the same machine may still differ. */
  readonly now: number;
  readonly charts: readonly string[];
  readonly base: Base;
  /** What cannot be known of this run, in sentences (bodies of an old session). */
  readonly unknown: readonly string[];
  /** What the page may do. Absent: it may only look. */
  readonly control?: { readonly hold: boolean; readonly send: boolean };
  readonly limits: { readonly stepsMax: number };
  /** Of the last change of `ControlState`. */
  readonly state?: ControlState;
}

/** SSE, the unnamed event. `id:` is the `seq` of the last entry: `Last-Event-ID` resumes there. */
export interface Batch {
  readonly entries: readonly Entry[];
  /** Entries that this page was too slow for; what they said of the chart's counts is in `base`. */
  readonly lost?: { readonly from: number; readonly to: number };
  /**
   * With `lost`: where the page starts again. Alone: what is before it is not kept any more, and
   * need not be kept by the page.
   */
  readonly base?: Base;
  /** Charts that the entries need and that were not named before. */
  readonly charts?: readonly string[];
}

/** SSE `event: ended`: the run is over, nothing more will come. The server still answers. */
export interface Ended {
  readonly at: number;
}

/** SSE `event: control`. */
export interface ControlState {
  /** Ids of states before which the machine is held. */
  readonly breakpoints: readonly string[];
  readonly held: Held | null;
}

export interface Held {
  readonly instance: string;
  /** When it was, ms since 1970. */
  readonly since: number;
  /** The breakpoint, or null when a person has said stop. */
  readonly before: string | null;
  /** What waits to be heard, oldest first: types of events, `start <service>` for a service. */
  readonly waiting: readonly string[];
  /** What the first of them would do, where that can be said. */
  readonly next?: { readonly edges: readonly string[]; readonly to: readonly string[] };
}

/**
 * Routes below `/<token>/`, all GET but `command`. Relative, as a page asks them.
 * `seq` = a step; `path` = JSON array of `Path`. Answers are JSON of the type that is named.
 */
export const routes = {
  /** The page itself. */
  page: '',
  /** SSE: `Hello`, then `Batch`es and `ControlState`s; `Ended` when the run is over. */
  events: 'events',
  /** `?key=` → `ChartAnswer`. */
  chart: 'chart',
  /** `?seq=&path=` → `Piece`: of the context after this step. */
  context: 'context',
  /** `?seq=&path=` → `Piece`: of the event of this step. */
  event: 'event',
  /** `?seq=&path=` → `Piece`: the whole message of a `MessageEntry`. */
  message: 'message',
  /** `?id=&path=` → `Piece`: the body of a request. */
  request: 'request',
  /** `?id=` → `RequestDiff`: against the request of the same `querySource` before it. */
  requestDiff: 'request-diff',
  /** `?instance=` → `Sendable`. */
  sendable: 'sendable',
  /** `?chart=<key>` → `Coverage`; 204 without one: no file was given, or it cannot be read. */
  coverage: 'coverage',
  /** The recording: JSON lines, `Hello` first, then a `ChartLine` per chart, then the entries. */
  exportJsonl: 'export.jsonl',
  /** One self-contained page with the recording in it. */
  exportHtml: 'export.html',
  /** POST, `Command` as JSON, header `x-inspector-token` → `CommandAnswer`. */
  command: 'command',
} as const;

export const TOKEN_HEADER = 'x-inspector-token';

export interface ChartAnswer {
  readonly chart: Chart;
  /** Drawn; absent when there is nobody who can (no elkjs): then show nested lists. */
  readonly svg?: string;
  /** Why there is no drawing. */
  readonly why?: string;
}

/** A line of a recording that carries a chart. */
export interface ChartLine {
  readonly kind: 'chart';
  readonly chart: Chart;
  readonly svg?: string;
}

/** A line of a recording: the whole context after a step, cut. About every 50th step, and the last. */
export interface ContextLine {
  readonly kind: 'context';
  readonly seq: number;
  readonly instance: string;
  readonly value: Preview;
}

/** A line of a recording: the body of a request, as what differs from the one before it. */
export interface BodyLine extends RequestDiff {
  readonly kind: 'body';
}

/** What a line of a recording may be, after the first (`Hello`). Charts come before the entries. */
export type RecordingLine = ChartLine | ContextLine | BodyLine | Entry;

/** A part of something large, cut to: texts 4,000, items 50, keys 100, depth 3. */
export interface Piece {
  readonly path: Path;
  readonly value: Preview;
  /** It is not kept any more, or never was: why. */
  readonly missing?: string;
  /** Of a recording, which has few contexts: the step (`Step.n`) whose context this is. */
  readonly fromStep?: number;
}

export interface RequestDiff {
  readonly id: string;
  readonly previous: string | null;
  readonly ops: readonly DiffOp[];
  readonly moreOps: number;
  /** Messages at the begin that are the same, so that the cache can have them. */
  readonly sameMessages: number;
  readonly missing?: string;
}

/** What may be sent to an instance: its machine's own events, nothing internal. */
export interface Sendable {
  readonly instance: string;
  readonly events: readonly {
    readonly type: string;
    /** The machine would do something with it now. */
    readonly can: boolean;
  }[];
}

/** Which transitions the tests have taken: `edge id → how often`. */
export interface Coverage {
  readonly chart: string;
  readonly taken: Readonly<Record<string, number>>;
  readonly runs: number;
}

// ── from the page, when it was allowed ──

export type Command =
  /** Breakpoint before a state, on or off. Needs `control.hold`, like the next three. */
  | { readonly do: 'break'; readonly state: string; readonly on: boolean }
  /** Stop at the next chance. */
  | { readonly do: 'hold' }
  /** One thing that waits is let through, and it is held again. */
  | { readonly do: 'step' }
  | { readonly do: 'go' }
  /** As the host's abort: works always, also while held. */
  | { readonly do: 'abort'; readonly instance: string }
  /** Needs `control.send`. The event must be one of `Sendable.events` that `can`. */
  | {
      readonly do: 'send';
      readonly instance: string;
      readonly event: { readonly type: string; readonly [field: string]: unknown };
    };

export type CommandAnswer = { readonly ok: true } | { readonly ok: false; readonly why: string };
