/**
 * The contexts of the steps that are kept: as changes from one to the next, with a whole one now
 * and then. So a step costs what it has changed, and an array that grows is not kept in all its
 * lengths.
 */
import { applyChanges, type Change, changesBetween } from './changes.ts';
import type { EntryList, Kept } from './entry-list.ts';

/** Steps of an instance between two whole contexts. */
const KEYFRAME_STEPS = 50;
/** More changes than this, and the whole context is the cheaper thing to keep. */
const CHANGES_MAX = 200;

/** Kept beside a step. */
export interface StepRaw {
  readonly event: unknown;
  readonly changes: readonly Change[];
  readonly context?: { readonly value: unknown };
  /** The instance has ended with it. */
  readonly isLast: boolean;
}

interface Last {
  readonly context: unknown;
  /** Steps since the last whole context. */
  readonly since: number;
}

export class Contexts {
  readonly #last = new Map<string, Last>();
  /** The context after the newest step that was dropped. */
  readonly #dropped = new Map<string, unknown>();

  /** @returns what has changed; nothing known before: `undefined`. */
  note(
    instance: string,
    context: unknown,
  ): Omit<StepRaw, 'event' | 'isLast'> & { readonly isFirst: boolean } {
    const last = this.#last.get(instance);
    const changes = last ? changesBetween(last.context, context) : [];
    const isWhole = !last || last.since >= KEYFRAME_STEPS || changes.length > CHANGES_MAX;
    this.#last.set(instance, { context, since: isWhole ? 0 : last.since + 1 });
    return { changes, isFirst: !last, ...(isWhole ? { context: { value: context } } : {}) };
  }

  /** A step is not kept any more: the next one of its instance goes on from its context. */
  forget({ kind, instance, raw }: Kept): void {
    if (kind !== 'step') return;
    const { context, changes, isLast } = raw as StepRaw;
    if (isLast) {
      this.#dropped.delete(instance);
      return;
    }
    const before = this.#dropped.get(instance);
    this.#dropped.set(instance, context ? context.value : applyChanges(before, changes));
  }

  /** Nothing more will come from it. */
  end(instance: string): void {
    this.#last.delete(instance);
  }

  /** After a step. `undefined` when it is not kept. */
  at(list: EntryList, seq: number): { readonly value: unknown } | undefined {
    const step = list.at(seq);
    if (step?.kind !== 'step') return undefined;
    const since: (readonly Change[])[] = [];
    for (const kept of list.back(seq)) {
      if (kept.kind !== 'step' || kept.instance !== step.instance) continue;
      const { context, changes } = kept.raw as StepRaw;
      if (context) return { value: replay(context.value, since) };
      since.push(changes);
    }
    const { instance } = step;
    if (!this.#dropped.has(instance)) return undefined;
    return { value: replay(this.#dropped.get(instance), since) };
  }
}

/** @param changes newest first. */
const replay = (value: unknown, changes: readonly (readonly Change[])[]): unknown =>
  changes.reduceRight<unknown>(applyChanges, value);

/** Nodes that are looked at to say how much a value holds. */
const NODES_MAX = 400;

/** Bytes of what the changes have brought, roughly: texts count, the rest is a pointer each. */
export function bytesOf(changes: readonly Change[]): number {
  const budget = { nodes: NODES_MAX, bytes: 64 * changes.length };
  for (const change of changes) {
    if (change.op === 'set' || change.op === 'add') weigh(change.to, budget);
    else if (change.op === 'append') weigh(change.items, budget);
  }
  return budget.bytes;
}

/** Of any value. */
export function sizeOf(value: unknown): number {
  const budget = { nodes: NODES_MAX, bytes: 0 };
  weigh(value, budget);
  return budget.bytes;
}

function weigh(value: unknown, budget: { nodes: number; bytes: number }): void {
  budget.nodes -= 1;
  if (budget.nodes < 0) return;
  budget.bytes += 16;
  if (typeof value === 'string') budget.bytes += value.length;
  else if (Array.isArray(value)) {
    budget.bytes += 8 * value.length;
    for (const one of value.slice(0, Math.max(1, budget.nodes))) weigh(one, budget);
  } else if (ArrayBuffer.isView(value)) budget.bytes += value.byteLength;
  else if (typeof value === 'object' && value !== null) {
    for (const one of Object.values(value)) weigh(one, budget);
  }
}
