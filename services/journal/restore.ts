/**
 * A session as it stood when its last process ended. Read from the end, up to the newest summary
 * that the conversation goes on from: what is older costs nothing.
 */
import { spendsTurn } from '../../machines/reasons.ts';
import { type Collapse, type CollapseRecord, collapseOf } from '../collapse/record.ts';
import { isRecord } from '../is-record.ts';
import type { LogMessage } from '../messages.ts';
import { costOf } from '../model/model-table.ts';
import type { Usage } from '../model/types.ts';
import { bareUuid } from '../preprocess/revise.ts';
import type { Replacement } from '../preprocess/tool-result-budget.ts';
import { type Branch, branchTo, type Node, withSiblings } from './branch.ts';
import { READING_LINE, ReadingLines, type RestoredReading } from './reading-lines.ts';
import { type Costs, readMessages, SCHEMA, type Totals } from './records.ts';
import { soundBlocks, soundMessage } from './sound-blocks.ts';
import type { JournalRecord, JournalStore } from './store.ts';

/** How far a call came, as the ledger says. */
export interface LedgerState {
  readonly name: string;
  readonly isFinished: boolean;
}

export interface Restored {
  readonly sessionId: string;
  /** We have begun it: there is a ledger. A session of another program has none. */
  readonly isOwn: boolean;
  /** What was said and stands, oldest first. Perhaps with open calls, at its end. */
  readonly messages: readonly LogMessage[];
  /** The next message is said after this one; `null` for an empty session. */
  readonly tip: string | null;
  readonly totals: Totals;
  readonly costs: Costs;
  readonly replacements: readonly Replacement[];
  /** Summaries of parts of the conversation, in the order in which they were made. */
  readonly collapses: readonly CollapseRecord[];
  /** How all of that was read when the last request was made. */
  readonly reading: RestoredReading;
  /** Old turns were dropped. */
  readonly isSnipped: boolean;
  /** The host has asked for a snip before this message, and no iteration has come to it. */
  readonly snipRequest: string | undefined;
  /** Calls with side effects that were begun, by id. */
  readonly ledger: ReadonlyMap<string, LedgerState>;
  /** The last turn has left its open calls to the host. */
  readonly isDeferred: boolean;
  /** Prompts that no result has named, oldest first. */
  readonly openPrompts: readonly string[];
  /** Prompts that came beside a turn and that none has taken, oldest first. */
  readonly queued: readonly LogMessage[];
  /** The last turn has no result. */
  readonly isInterrupted: boolean;
  /** What the interrupted turn has spent of its turns, and how often it was tried to be ended. */
  readonly turnsSpent: number;
  readonly finishTries: number;
  /** Lines that are no records, or no messages where they should be. They stay where they are. */
  readonly damagedLines: number;
  /** Blocks of messages that were left out, for they lack what their kind must have. */
  readonly damagedBlocks: number;
  /** Messages whose parent is not in the file. */
  readonly gaps: number;
  readonly title: string | undefined;
  /** Of these messages hosts have seen deltas and nothing else, oldest first: they do not stand. */
  readonly shownPartly: readonly string[];
}

export interface RestoreOptions {
  /** Up to and including this message, or any version of it; what came after is another branch. */
  readonly at?: string;
}

/** What stands in the way of going on with a session. */
export class RestoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RestoreError';
  }
}

/**
 * @returns `undefined` when there is no such session.
 * @throws RestoreError when it was written by a newer version, or `at` is not in it.
 */
export async function restore(
  store: JournalStore,
  sessionId: string,
  options: RestoreOptions = {},
): Promise<Restored | undefined> {
  const first = await store.first(sessionId);
  const isOwn = first?.type === 'escapement';
  if (isOwn && typeof first.schema === 'number' && first.schema > SCHEMA) {
    throw new RestoreError(
      `session ${sessionId} was written by a newer version (schema ${first.schema}; ` +
        `this one reads up to ${SCHEMA}): update escapement`,
    );
  }
  const reading = new Reading(options.at);
  let isEmpty = true;
  for await (const stored of store.readBack(sessionId)) {
    isEmpty = false;
    if (stored.kind === 'damaged') reading.damagedLines += 1;
    else if (reading.take(stored.record)) break;
  }
  if (isEmpty && !first) return undefined;
  return reading.result(sessionId, isOwn);
}

/** Old turns that were dropped, and what stands in their place. */
interface Snip {
  readonly gone: ReadonlySet<string>;
  readonly boundary: LogMessage;
}

function withoutSnipped(
  messages: readonly LogMessage[],
  { gone, boundary }: Snip,
): readonly LogMessage[] {
  const isGone = ({ uuid }: LogMessage) => gone.has(bareUuid(uuid));
  const kept = messages.filter((message) => !isGone(message));
  return kept.length === messages.length ? messages : [boundary, ...kept];
}

/** What a message says instead of what its line says. */
interface Amendment {
  readonly content: LogMessage['content'];
  readonly isUnbound: boolean;
}

function amended(message: LogMessage, { content, isUnbound }: Amendment): LogMessage {
  const { model, ...rest } = message;
  return { ...rest, content, ...(model === undefined || isUnbound ? {} : { model }) };
}

/** Lines come in newest first. */
class Reading {
  readonly #at: string | undefined;
  readonly #nodes = new Map<string, Node>();
  readonly #amended = new Map<string, Amendment>();
  /** What agents have said. */
  readonly #onSides = new Set<string>();
  /** Begun to be shown, and perhaps never whole, newest first. */
  readonly #shownPartly: string[] = [];
  readonly #retracted = new Set<string>();
  readonly #totals = new Map<string, Usage>();
  readonly #costs = new Map<string, number>();
  readonly #replacements = new Map<string, Replacement>();
  /** Newest first. */
  readonly #collapses = new Map<string, Collapse>();
  readonly #committed = new Set<string>();
  readonly #ledger = new Map<string, LedgerState>();
  #isDeferred = false;
  /** Newest first. */
  readonly #snips: Snip[] = [];
  #isSnipped = false;
  readonly #reading = new ReadingLines();
  /** The newest word on it. */
  #snipRequest: string | null | undefined;
  readonly #queue = new Map<string, LogMessage | undefined>();
  #openPrompts: string[] = [];
  #order = 0;
  #tip: string | null | undefined;
  #hasResult = false;
  #isInterrupted = false;
  #turnsSpent = 0;
  #finishTries = 0;
  /** Tries that came to a result and did not answer the interrupted turn. */
  #endedTries = 0;
  /** Prompts that their results have named. */
  readonly #namedBeside = new Set<string>();
  #title: string | undefined;
  damagedLines = 0;
  #damagedBlocks = 0;

  constructor(at: string | undefined) {
    this.#at = at === undefined ? undefined : bareUuid(at);
    this.#tip = this.#at;
  }

  /** @returns whether nothing older is needed. */
  take(record: JournalRecord): boolean {
    this.#order -= 1;
    switch (record.type) {
      case 'user':
      case 'assistant':
        this.#takeMessage(record);
        return false;
      case 'system':
        return this.#takeSystem(record);
      case 'tombstone':
        this.#retracted.add(String(record.uuid));
        return false;
      case 'amended':
        this.#takeAmended(record);
        return false;
      case 'shown-partly':
      case 'agent-shown-partly':
        this.#shownPartly.push(String(record.uuid));
        return false;
      case 'rewind':
        this.#leafIs(typeof record.to === 'string' ? bareUuid(record.to) : null);
        if (!this.#isInterrupted) this.#hasResult = true; // nobody goes on with what was left
        return false;
      case 'usage':
        this.#takeUsage(record);
        return false;
      case 'tool_started':
        this.#takeStarted(record);
        return false;
      case 'tool_finished':
        this.#takeLedger(record, true);
        return false;
      case 'content-replacement':
        this.#takeReplacement(record);
        return false;
      case 'collapse-staged':
        this.#takeCollapse(record);
        return false;
      case 'collapse-committed':
        if (Array.isArray(record.ids)) for (const id of record.ids) this.#committed.add(String(id));
        this.#reading.noteRewrite();
        return false;
      case READING_LINE:
        this.#reading.take(record);
        return false;
      case 'snip-request':
        if (this.#snipRequest === undefined)
          this.#snipRequest = typeof record.before === 'string' ? record.before : null;
        return false;
      case 'snip':
        this.#takeSnip(record);
        return false;
      case 'queue-operation':
        this.#takeQueued(record);
        return false;
      case 'result':
        this.#takeResult(record);
        return false;
      case 'transition':
        if (!this.#hasResult && spendsTurn(record.reason)) this.#turnsSpent += 1;
        return false;
      case 'turn-resumed':
        this.#takeTry();
        return false;
      case 'custom-title':
        if (typeof record.customTitle === 'string') this.#title ??= record.customTitle;
        return false;
      default:
        this.#takePlace(record, []);
        return false;
    }
  }

  #takeMessage(record: JournalRecord): void {
    if (record.isSidechain === true) {
      this.#onSides.add(String(record.uuid));
      return;
    }
    const { messages, isDamaged, damagedBlocks } = readMessages(record);
    if (isDamaged) this.damagedLines += 1;
    this.#damagedBlocks += damagedBlocks;
    this.#takePlace(record, messages);
    const [first] = messages;
    if (!first) return;
    this.#queue.set(first.uuid, undefined); // a turn has taken it
    if (this.#retracted.has(first.uuid)) return;
    this.#leafIs(first.uuid);
    if (this.#hasResult) return;
    this.#isInterrupted = true;
    if (first.origin === 'prompt' && first.role === 'user') this.#openPrompts.unshift(first.uuid);
  }

  /** A line with a place in the tree, also one that says nothing: the way leads through it. */
  #takePlace(record: JournalRecord, messages: readonly LogMessage[]): void {
    const { uuid, parentUuid } = record;
    if (typeof uuid !== 'string' || record.isSidechain === true || this.#nodes.has(uuid)) return;
    if (messages.length === 0 && parentUuid === undefined) return;
    this.#nodes.set(uuid, {
      uuid,
      parentUuid: typeof parentUuid === 'string' ? parentUuid : null,
      order: this.#order,
      messages,
    });
  }

  /** A message that stands whole in a line; damage is counted. */
  #sound(value: unknown): LogMessage | undefined {
    const { message, damaged } = soundMessage(value);
    this.#damagedBlocks += damaged;
    return message;
  }

  /** Only a summary that the conversation goes on from ends the reading. */
  #takeSystem(record: JournalRecord): boolean {
    const { uuid, history } = record;
    const isBoundary = record.subtype === 'compact_boundary' && typeof uuid === 'string';
    if (!isBoundary || !Array.isArray(history)) {
      this.#takePlace(record, []);
      return false;
    }
    this.#leafIs(uuid);
    const kept = history.flatMap((message) => this.#sound(message) ?? []);
    const base = { parentUuid: null, order: this.#order, messages: [] };
    // A branch may also begin at a message that only stands in the summary's history by now.
    kept.forEach((message, at) => {
      const name = bareUuid(message.uuid);
      if (this.#nodes.has(name)) return;
      this.#nodes.set(name, {
        ...base,
        uuid: name,
        history: kept.slice(0, at + 1),
      });
    });
    this.#nodes.set(uuid, { ...base, uuid, history: kept });
    const way = branchTo(this.#tip ?? null, this.#nodes);
    const isOn = way.isWhole && way.nodes[0]?.history !== undefined;
    if (!isOn) return false;
    this.#takeSums(record);
    return true;
  }

  /** What lines before the boundary would add up to. */
  #takeSums(record: JournalRecord): void {
    const costs = isRecord(record.costs) ? record.costs : {};
    if (isRecord(record.totals)) {
      for (const [model, usage] of Object.entries(record.totals))
        this.#add(model, usage as Usage, costs[model]);
    }
    if (typeof record.title === 'string') this.#title ??= record.title;
    for (const message of Array.isArray(record.queued) ? [...record.queued].reverse() : []) {
      const uuid = isRecord(message) ? String(message.uuid) : '';
      if (!this.#queue.has(uuid)) this.#queue.set(uuid, this.#sound(message));
    }
    if (this.#hasResult || !Array.isArray(record.promptUuids)) return;
    this.#isInterrupted = true;
    this.#openPrompts = [...(record.promptUuids as string[]), ...this.#openPrompts];
  }

  /** The newest word on where the conversation stands is met first. */
  #leafIs(uuid: string | null): void {
    if (this.#tip === undefined) this.#tip = uuid;
  }

  #takeAmended({ uuid, message, unbound }: JournalRecord): void {
    if (typeof uuid !== 'string' || !isRecord(message) || this.#amended.has(uuid)) return;
    const sound = Array.isArray(message.content) ? soundBlocks(message.content) : undefined;
    if (!sound) return;
    const { blocks, damaged } = sound;
    this.#damagedBlocks += damaged;
    if (damaged > 0 && blocks.length === 0) return;
    this.#amended.set(uuid, { content: blocks, isUnbound: unbound === true });
  }

  #takeUsage({ message, costUSD }: JournalRecord): void {
    if (!isRecord(message) || typeof message.model !== 'string' || !isRecord(message.usage)) return;
    this.#add(message.model, message.usage as unknown as Usage, costUSD);
  }

  /** @param paid dollars, if it was written down; else today's price of it. */
  #add(model: string, usage: Usage, paid: unknown): void {
    const usd = typeof paid === 'number' ? paid : (costOf(model, usage) ?? 0);
    this.#costs.set(model, (this.#costs.get(model) ?? 0) + usd);
    const sum = this.#totals.get(model);
    const plus = (name: keyof Usage) => (sum?.[name] ?? 0) + (usage[name] ?? 0);
    this.#totals.set(model, {
      input_tokens: plus('input_tokens'),
      output_tokens: plus('output_tokens'),
      cache_read_input_tokens: plus('cache_read_input_tokens'),
      cache_creation_input_tokens: plus('cache_creation_input_tokens'),
    });
  }

  #takeStarted(record: JournalRecord): void {
    const { toolUseId } = record;
    // A start after an end is another run: the end that was seen first is the newer one.
    if (typeof toolUseId === 'string' && !this.#ledger.has(toolUseId)) {
      this.#takeLedger(record, false);
    }
  }

  #takeLedger({ toolUseId, name }: JournalRecord, isFinished: boolean): void {
    if (typeof toolUseId !== 'string' || this.#ledger.has(toolUseId)) return;
    this.#ledger.set(toolUseId, { name: String(name), isFinished });
  }

  #takeReplacement({ toolUseId, chars, text, path }: JournalRecord): void {
    if (typeof toolUseId !== 'string' || typeof text !== 'string' || typeof chars !== 'number') {
      return;
    }
    if (this.#replacements.has(toolUseId)) return;
    const where = typeof path === 'string' ? path : undefined;
    this.#replacements.set(toolUseId, { toolUseId, chars, text, path: where });
  }

  #takeCollapse(record: JournalRecord): void {
    const collapse = collapseOf(record);
    if (!collapse || this.#collapses.has(collapse.id)) return;
    const message = this.#sound(collapse.message);
    if (message) this.#collapses.set(collapse.id, { ...collapse, message });
  }

  #takeSnip({ dropped, boundary }: JournalRecord): void {
    if (!Array.isArray(dropped) || !isRecord(boundary)) return;
    const gone = new Set(dropped.filter((uuid) => typeof uuid === 'string').map(bareUuid));
    // Back to a message that was dropped: it is there again.
    if (this.#at !== undefined && gone.has(this.#at)) return;
    const instead = this.#sound(boundary);
    if (!instead) return;
    this.#snips.push({ gone, boundary: instead });
    this.#reading.noteRewrite();
  }

  /** The newest word on a prompt counts. */
  #takeQueued(record: JournalRecord): void {
    const { uuid, operation, message } = record;
    if (typeof uuid !== 'string' || this.#queue.has(uuid)) return;
    this.#queue.set(uuid, operation === 'enqueue' ? this.#sound(message) : undefined);
  }

  /** One that came to a result was not the end of its process. */
  #takeTry(): void {
    if (this.#hasResult) return;
    if (this.#endedTries > 0) this.#endedTries -= 1;
    else this.#finishTries += 1;
  }

  #takeResult(record: JournalRecord): void {
    if (record.leavesOpen === true) {
      // It ended in good order, and the turn that was interrupted before it is open still.
      this.#endedTries += 1;
      const { user_message_uuids: named } = record;
      for (const uuid of Array.isArray(named) ? named : []) this.#namedBeside.add(String(uuid));
      return;
    }
    if (!this.#hasResult && !this.#isInterrupted) {
      // A command that came before it may have ended the turn otherwise: its calls wait all the same.
      this.#isDeferred =
        record.terminal_reason === 'tool_deferred' || record.deferred_tool_use !== undefined;
    }
    this.#hasResult = true;
  }

  result(sessionId: string, isOwn: boolean): Restored {
    if (this.#at !== undefined && !this.#isThere(this.#at)) {
      throw new RestoreError(`message ${this.#at} is not in session ${sessionId}`);
    }
    const branch = branchTo(this.#tip ?? null, this.#nodes);
    const messages = this.#messagesOn(branch, isOwn);
    const last = messages.at(-1);
    const isAtOther = this.#at !== undefined;
    const isForeignOpen = !isOwn && last !== undefined && last.role === 'user';
    return {
      sessionId,
      isOwn,
      messages,
      tip: this.#tip ?? null,
      totals: Object.fromEntries(this.#totals),
      costs: Object.fromEntries(this.#costs),
      replacements: [...this.#replacements.values()],
      collapses: [...this.#collapses.values()]
        .reverse()
        .map((one) => ({ ...one, isCommitted: this.#committed.has(one.id) })),
      reading: this.#reading.result,
      isSnipped: this.#isSnipped,
      snipRequest: isAtOther ? undefined : (this.#snipRequest ?? undefined),
      ledger: this.#ledger,
      isDeferred: this.#isDeferred && !isAtOther,
      openPrompts:
        isOwn && !isAtOther ? this.#openPrompts.filter((one) => !this.#namedBeside.has(one)) : [],
      queued: isAtOther
        ? []
        : [...this.#queue.values()].filter((one) => one !== undefined).reverse(),
      isInterrupted: !isAtOther && (isOwn ? this.#isInterrupted : isForeignOpen),
      turnsSpent: this.#isInterrupted ? this.#turnsSpent : 0,
      finishTries: this.#finishTries,
      damagedLines: this.damagedLines,
      damagedBlocks: this.#damagedBlocks,
      gaps: branch.gaps,
      title: this.#title,
      shownPartly: this.#shownPartly
        .filter((uuid) => ![this.#nodes, this.#onSides, this.#retracted].some((s) => s.has(uuid)))
        .reverse(),
    };
  }

  #isThere(uuid: string): boolean {
    if (this.#nodes.has(uuid)) return true;
    return [...this.#nodes.values()].some(({ history = [], messages }) =>
      [...history, ...messages].some((message) => bareUuid(message.uuid) === uuid),
    );
  }

  #messagesOn(branch: Branch, isOwn: boolean): readonly LogMessage[] {
    const nodes = isOwn ? branch.nodes : withSiblings(branch.nodes, this.#nodes);
    // Behind a boundary of ours stands its summary as a line, for viewers: the history has it.
    const seen = new Set<string>();
    const messages = nodes
      .flatMap((node) => node.history ?? node.messages)
      .filter(({ uuid }) => !this.#retracted.has(uuid) && !seen.has(uuid) && seen.add(uuid))
      .map((message) => {
        const amendment = this.#amended.get(bareUuid(message.uuid));
        return amendment ? amended(message, amendment) : message;
      });
    const snipped = this.#snips.reduceRight(withoutSnipped, messages);
    this.#isSnipped = snipped !== messages;
    if (this.#at === undefined) return snipped;
    const end = snipped.findIndex(({ uuid }) => bareUuid(uuid) === this.#at);
    return end < 0 ? snipped : snipped.slice(0, end + 1);
  }
}
