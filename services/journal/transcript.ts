/**
 * The session on disk, as the engine writes it. Knows what a line means; how lines are kept is the
 * store's business. Every line is in the store when the call returns; `commit` makes it safe.
 */
import { join } from 'node:path';
import type { CollapseRecord } from '../collapse/record.ts';
import type { LogMessage } from '../messages.ts';
import type { Usage } from '../model/types.ts';
import { bareUuid } from '../preprocess/revise.ts';
import type { Replacement } from '../preprocess/tool-result-budget.ts';
import { READING_LINE, type ReadingFields } from './reading-lines.ts';
import { type Costs, type LineStamp, lineOf, SCHEMA, type Totals } from './records.ts';
import type { JournalRecord, JournalWriter } from './store.ts';

/** Folder of all sessions of one working folder. */
export const projectFolder = (home: string, cwd: string): string =>
  join(home, 'projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'));

/** `$ESCAPEMENT_HOME/projects/<cwd>/<session>.jsonl` */
export const transcriptPath = (home: string, cwd: string, sessionId: string): string =>
  join(projectFolder(home, cwd), `${sessionId}.jsonl`);

/** A summary that stands for what was said before it. */
export interface Boundary {
  readonly trigger: 'auto' | 'manual';
  readonly preTokens: number;
  readonly postTokens: number;
  /** The whole history from here on, the summary first: nothing older need be read again. */
  readonly history: readonly LogMessage[];
  readonly totals: Totals;
  readonly costs: Costs;
  /** Prompts of the turn that goes on: no result has named them yet. */
  readonly promptUuids: readonly string[];
  /** Prompts that no turn has taken, oldest first. */
  readonly queued: readonly LogMessage[];
  readonly title?: string;
}

export interface Transcript {
  readonly path: string;
  /**
   * Becomes the writer. Before the first line; once.
   * @returns bytes of a line that a crash had cut, and that were taken off.
   * @throws SessionInUseError
   */
  open(): Promise<number>;
  /** A message that was said, and stands unless it is retracted. */
  record(message: LogMessage): void;
  /** A message says something else now: the input with which a call really runs, no image. */
  amend(message: LogMessage): void;
  /** A message does not stand any more. What comes next is said after the one before it. */
  retract(uuid: string): void;
  /** From here on history is a summary and what was kept. */
  compacted(boundary: Boundary): void;
  /** What comes next is said after this message; `null`: at the very begin. */
  rewind(to: string | null): void;
  /**
   * Anything that is no message: an event of the chart, totals, a decision about a result.
   * @param manner `beside`: nobody misses the line when the disk is full; the line after it may.
   */
  note(type: string, fields: Readonly<Record<string, unknown>>, manner?: 'beside'): void;
  /** What a call of a model has used. Summed up when the session is opened again. */
  used(model: string, usage: Usage, costUsd: number | null): void;
  /** Safe from a loss of power. Rejects when the store cannot take it. */
  commit(): Promise<void>;
  close(): Promise<void>;
}

export interface TranscriptOptions extends LineStamp {
  readonly path: string;
  /** Called once, by the first line. */
  readonly openWriter: () => Promise<JournalWriter>;
  readonly now: () => Date;
  readonly uuid: () => string;
  /** Where a resumed session ends: what comes next is said after it. */
  readonly tip?: string | null;
  /** The session is there already: it has its first line. */
  readonly isResumed?: boolean;
  /** Lines that a fork begins with, after the first. */
  readonly begin?: readonly LogMessage[];
  /** What was decided about results among them. */
  readonly replacements?: readonly Replacement[];
  /** Summaries of parts of them. */
  readonly collapses?: readonly CollapseRecord[];
  /** How they are read; absent: as they were said. */
  readonly reading?: ReadingFields | undefined;
  readonly forkedFrom?: string;
  /** The store takes nothing any more. Told once, until it takes something again. */
  readonly onFailure: (error: Error) => void;
}

/** Nothing is written: `persistSession: false`. */
export const noTranscript = (path: string): Transcript => ({
  path,
  open: () => Promise.resolve(0),
  record: () => {},
  amend: () => {},
  retract: () => {},
  compacted: () => {},
  rewind: () => {},
  note: () => {},
  used: () => {},
  commit: () => Promise.resolve(),
  close: () => Promise.resolve(),
});

/** Nothing is made before the first line. */
export function openTranscript(options: TranscriptOptions): Transcript {
  return new JournalTranscript(options);
}

class JournalTranscript implements Transcript {
  readonly path: string;
  readonly #options: TranscriptOptions;
  #writer: JournalWriter | undefined;
  #opening: Promise<number> | undefined;
  #hasFailed = false;
  /** Said before the session was opened: a prompt beside a turn that is only just beginning. */
  #early: JournalRecord[] = [];
  /** The last message of the branch. */
  #tip: string | null;
  /** The last message of each subagent, by the call that it runs for. */
  readonly #sideTips = new Map<string, string>();
  /** What each message of this process was said after: a retraction goes back there. */
  readonly #parents = new Map<string, string | null>();

  constructor(options: TranscriptOptions) {
    this.#options = options;
    this.path = options.path;
    this.#tip = options.tip ?? null;
  }

  open(): Promise<number> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<number> {
    const { openWriter, isResumed } = this.#options;
    const writer = await openWriter();
    this.#writer = writer;
    const early = this.#early.splice(0);
    if (!isResumed) this.#begin();
    for (const record of early) this.#write(record);
    return writer.cutBytes;
  }

  #begin(): void {
    const { begin = [], replacements = [], collapses = [], reading, forkedFrom } = this.#options;
    const { sessionId, version, cwd } = this.#options;
    this.#write({
      type: 'escapement',
      schema: SCHEMA,
      sessionId,
      version,
      cwd,
      timestamp: this.#now(),
      ...(forkedFrom === undefined ? {} : { forkedFrom }),
    });
    if (begin.length > 0) this.#tip = null;
    for (const message of begin) this.record(message);
    for (const one of replacements) this.note('content-replacement', { ...one });
    for (const { isCommitted, ...one } of collapses) {
      this.note('collapse-staged', { ...one });
      if (isCommitted) this.note('collapse-committed', { ids: [one.id] });
    }
    if (reading) this.note(READING_LINE, { ...reading });
  }

  record(message: LogMessage): void {
    const side = message.parentToolUseId;
    const parent = side === undefined ? this.#tip : (this.#sideTips.get(side) ?? null);
    this.#write(lineOf(message, parent, this.#options));
    if (side === undefined) {
      this.#parents.set(message.uuid, parent);
      this.#tip = message.uuid;
    } else this.#sideTips.set(side, message.uuid);
  }

  amend({ uuid, content, role, model }: LogMessage): void {
    // What stood before it has changed: its thinking is of no model any more.
    const unbound = role === 'assistant' && model === undefined ? { unbound: true } : {};
    this.note('amended', { uuid: bareUuid(uuid), message: { content }, ...unbound });
  }

  retract(uuid: string): void {
    this.note('tombstone', { uuid });
    // Messages are taken back last first or as a whole: either way the tip ends before them.
    if (this.#tip === uuid) this.#tip = this.#parents.get(uuid) ?? null;
    else this.#skip(uuid);
    this.#parents.delete(uuid);
  }

  /** What was said after the retracted message is said after the one before it. */
  #skip(uuid: string): void {
    const before = this.#parents.get(uuid);
    if (before === undefined) return;
    for (const [child, parent] of this.#parents) {
      if (parent === uuid) this.#parents.set(child, before);
    }
  }

  compacted(boundary: Boundary): void {
    const { trigger, preTokens, postTokens, history, totals, costs, title } = boundary;
    const { promptUuids, queued } = boundary;
    const uuid = this.#options.uuid();
    const { sessionId, cwd, version } = this.#options;
    this.#write({
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      uuid,
      parentUuid: null,
      logicalParentUuid: this.#tip,
      isSidechain: false,
      level: 'info',
      sessionId,
      cwd,
      version,
      timestamp: this.#now(),
      compactMetadata: { trigger, preTokens, postTokens },
      history,
      totals,
      costs,
      promptUuids,
      ...(queued.length > 0 ? { queued } : {}),
      ...(title === undefined ? {} : { title }),
    });
    this.#parents.clear();
    this.#tip = uuid;
    const [summary] = history;
    if (!summary) return;
    // For viewers. We ourselves go on from the boundary, which is one line and so is whole or not.
    this.#write({ ...lineOf(summary, uuid, this.#options), isCompactSummary: true });
    this.#tip = summary.uuid;
  }

  rewind(to: string | null): void {
    this.note('rewind', { to });
    this.#tip = to;
  }

  note(type: string, fields: Readonly<Record<string, unknown>>, manner?: 'beside'): void {
    const { sessionId } = this.#options;
    this.#write({ type, sessionId, timestamp: this.#now(), ...fields }, manner === 'beside');
  }

  used(model: string, usage: Usage, costUsd: number | null): void {
    const { cwd, version, uuid } = this.#options;
    this.note('usage', {
      cwd,
      version,
      message: { id: uuid(), model, usage },
      ...(costUsd === null ? {} : { costUSD: costUsd }),
    });
  }

  async commit(): Promise<void> {
    try {
      await this.#writer?.commit();
    } catch (error) {
      this.#tellFailure(error as Error);
      throw error;
    }
  }

  async close(): Promise<void> {
    // A session that was resumed and never used is held all the same.
    if (this.#options.isResumed) this.open().catch(() => {});
    await this.#opening?.catch(() => {});
    await this.#writer?.close();
  }

  #now(): string {
    return this.#options.now().toISOString();
  }

  #write(record: JournalRecord, isBeside = false): void {
    const writer = this.#writer;
    if (!writer) {
      this.#early.push(record);
      return;
    }
    writer.append(record);
    if (!writer.failure) this.#hasFailed = false;
    else if (!isBeside) this.#tellFailure(writer.failure);
  }

  #tellFailure(error: Error): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#options.onFailure(error);
  }
}
