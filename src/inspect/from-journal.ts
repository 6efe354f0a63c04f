/**
 * An old session as a run: its lines say what the chart has heard, so the same chart hears it again,
 * without any service and without time, and takes the same steps over the same edges for the same
 * reasons. Where the lines do not fit the chart of today, the run says so and does not guess.
 */
import type { QueryOutput } from '../../machines/events.ts';
import type { QueryInput } from '../../machines/state.ts';
import { isRecord } from '../../services/is-record.ts';
import { messagesOf, readMessages } from '../../services/journal/records.ts';
import type { JournalRecord, JournalStore } from '../../services/journal/store.ts';
import type { Usage } from '../../services/model/types.ts';
import { silentChart } from '../silent-chart.ts';
import { UsageError } from '../usage-error.ts';
import type { SDKMessage } from '../wire.ts';
import { LiveRun } from './live-run.ts';
import { secretsIn } from './redact.ts';
import type { Run } from './run.ts';

export interface InspectJournalOptions {
  readonly store: JournalStore;
  readonly sessionId: string;
  /** Variables whose names say that they are secret: their values are never shown. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Longer sessions are shown from their end. */
const LINES_MAX = 400_000;
const BOUNDS = { stepsMax: 100_000, bytesMax: 512 << 20 };

const unknown = [
  'bodies of requests: a session keeps what was said, not what was sent',
  'when a request was sent: an answer stands where its usage was written down',
  'attempts of services, and their errors in full',
] as const;

/** @throws UsageError when there is no such session, or nothing in it. */
export async function runFromJournal(options: InspectJournalOptions): Promise<Run> {
  const { store, sessionId, environment = {} } = options;
  const { records, damaged, damagedBlocks, isCut } = await recordsOf(store, sessionId);
  const [first] = records;
  if (!first) throw new UsageError(`session ${sessionId} is empty: there is nothing to look at`);
  const hasEvents = records.some(({ type }) => type === 'query' || type === 'agent-query');
  const replay = new Replay({
    sessionId,
    cwd: typeof first.cwd === 'string' ? first.cwd : undefined,
    secrets: secretsIn(environment),
    unknown: [
      ...unknown,
      ...(hasEvents ? [] : ['steps of the chart: the session was written by another program']),
      ...(isCut ? [`what came before its last ${LINES_MAX} lines`] : []),
      ...(damaged > 0 ? [`${damaged} damaged lines`] : []),
      ...(damagedBlocks > 0 ? [`${damagedBlocks} damaged blocks of messages`] : []),
    ],
  });
  records.forEach((record, at) => void replay.take(record, at + 1));
  return replay.end();
}

async function recordsOf(store: JournalStore, sessionId: string) {
  const records: JournalRecord[] = [];
  let damaged = 0;
  let damagedBlocks = 0;
  let isCut = false;
  for await (const stored of store.readBack(sessionId)) {
    if (stored.kind === 'damaged') damaged += 1;
    else {
      const read = readMessages(stored.record);
      if (read.isDamaged) damaged += 1;
      damagedBlocks += read.damagedBlocks;
      records.push(stored.record);
    }
    isCut = records.length >= LINES_MAX;
    if (isCut) break;
  }
  return { records: records.reverse(), damaged, damagedBlocks, isCut };
}

interface Query {
  readonly actor: ReturnType<typeof silentChart>;
  /** Reasons that the chart has said and no line has confirmed. */
  readonly said: string[];
  /** Events that were heard. */
  heard: number;
  isLost: boolean;
}

interface ReplayOptions {
  readonly sessionId: string;
  readonly cwd: string | undefined;
  readonly secrets: readonly string[];
  readonly unknown: readonly string[];
}

class Replay {
  readonly #run: LiveRun;
  readonly #queries = new Map<string, Query>();
  /** What a call was made for, to name the agent that works for it. */
  readonly #calls = new Map<string, { readonly agent?: string; readonly title: string }>();
  #now = 0;
  #prompt = '';
  /** The query of the session, and of each agent. */
  readonly #current = new Map<string, string>();
  #requests = 0;

  constructor({ sessionId, cwd, secrets, unknown: missing }: ReplayOptions) {
    this.#run = new LiveRun({
      ...{ title: `session ${sessionId}`, source: 'journal', sessionId, secrets, bounds: BOUNDS },
      ...(cwd === undefined ? {} : { cwd }),
      ...{ unknown: missing, hasBodies: false, now: () => this.#now },
    });
  }

  end(): Run {
    for (const [id, { actor, isLost }] of this.#queries) {
      // Not stopped, which would be a step that there never was: nothing runs in it.
      const isOpen = actor.getSnapshot().status === 'active' && !isLost;
      if (isOpen) this.#run.note('warning', 'the lines end before the query does', id);
    }
    this.#run.end();
    return this.#run;
  }

  /** @param line from 1. */
  take(record: JournalRecord, line: number): void {
    const { timestamp } = record;
    const at = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
    if (Number.isFinite(at)) this.#now = Math.max(this.#now, at);
    const side = typeof record.parentToolUseId === 'string' ? record.parentToolUseId : '';
    switch (record.type.replace(/^agent-/, '')) {
      case 'query':
        this.#begin(record, side);
        return;
      case 'event':
        this.#hear(record, line);
        return;
      case 'transition':
        this.#confirm(record, side, line);
        return;
      case 'user':
      case 'assistant':
        this.#said(record);
        return;
      case 'tombstone':
        this.#tell({ ...record, type: 'tombstone', message: { uuid: record.uuid } });
        return;
      case 'system':
        if (record.subtype === 'compact_boundary') {
          const { compactMetadata: data } = record;
          const { trigger, preTokens, postTokens } = isRecord(data) ? data : {};
          const compact_metadata = { trigger, pre_tokens: preTokens, post_tokens: postTokens };
          this.#tell({ type: 'system', subtype: 'compact_boundary', compact_metadata });
        }
        return;
      case 'usage':
        this.#used(record, side);
        return;
      case 'result':
        this.#tell(record);
        return;
    }
  }

  #tell(message: Readonly<Record<string, unknown>>): void {
    const said = { uuid: `line-${this.#run.list.next}`, session_id: '', ...message };
    this.#run.observe({ type: 'message.said', message: said as unknown as SDKMessage });
  }

  #said(record: JournalRecord): void {
    for (const message of messagesOf(record)) {
      for (const block of message.content) {
        if (block.type === 'text' && message.origin === 'prompt') this.#prompt = block.text;
        if (block.type === 'tool_use') this.#calls.set(block.id, agentIn(block.input, block.name));
      }
      this.#run.observe({ type: 'prompt.taken', message });
    }
  }

  #begin(record: JournalRecord, side: string): void {
    const { queryId, input } = record;
    if (typeof queryId !== 'string' || !isRecord(input) || this.#queries.has(queryId)) return;
    const given = input as unknown as QueryInput;
    const call = this.#calls.get(side);
    const title = this.#prompt.replace(/\s+/g, ' ').trim().slice(0, 120);
    this.#current.set(side, queryId);
    this.#run.observe({
      type: 'query.began',
      query: {
        ...{ queryId, model: String(input.model), querySource: given.querySource ?? 'main', title },
        ...(side === '' ? {} : { toolUseId: side, ...call }),
      },
    });
    const query: Query = {
      actor: silentChart(given, (event) =>
        this.#run.observe({ type: 'query.inspected', queryId, event }),
      ),
      said: [],
      heard: 0,
      isLost: false,
    };
    query.actor.on('transition', ({ reason }: Extract<QueryOutput, { type: 'transition' }>) => {
      if (reason !== undefined) query.said.push(reason);
    });
    this.#queries.set(queryId, query);
    query.actor.subscribe({ error: () => {} });
    query.actor.start();
  }

  #hear({ queryId, n, event }: JournalRecord, line: number): void {
    const query = this.#queries.get(String(queryId));
    if (!query || query.isLost || !isRecord(event) || typeof event.type !== 'string') return;
    if (n !== query.heard) {
      this.#lose(String(queryId), query, line, `event ${query.heard} is missing`);
      return;
    }
    query.heard += 1;
    const snapshot = query.actor.getSnapshot();
    if (snapshot.status !== 'active') return; // heard after its end: it does nothing there, too
    const heard = event as Parameters<typeof query.actor.send>[0];
    // What the host or a service says may come when nobody listens; what the chart itself waits for
    // comes only while it waits.
    if (event.type.startsWith('xstate.') && !snapshot.can(heard)) {
      const where = JSON.stringify(snapshot.value);
      this.#lose(
        String(queryId),
        query,
        line,
        `the chart does not wait for ${event.type} in ${where}`,
      );
      return;
    }
    query.actor.send(heard);
  }

  #confirm({ reason }: JournalRecord, side: string, line: number): void {
    const id = this.#current.get(side) ?? '';
    const query = this.#queries.get(id);
    if (!query || query.isLost) return;
    const said = query.said.shift();
    if (said === reason) return;
    this.#lose(
      id,
      query,
      line,
      `it went on with ${String(reason)}, the chart with ${String(said)}`,
    );
  }

  /** The first line that does not fit; what would come after it is not shown. */
  #lose(id: string, query: Query, line: number, why: string): void {
    query.isLost = true;
    const remedy = 'the session was written for another chart, or lines are lost';
    this.#run.note('error', `line ${line} does not fit the chart: ${why}. ${remedy}.`, id);
  }

  #used({ message, costUSD }: JournalRecord, side: string): void {
    if (!isRecord(message) || !isRecord(message.usage)) return;
    const queryId = this.#current.get(side);
    const query = queryId === undefined ? undefined : this.#queries.get(queryId);
    const isSampling = query?.actor.getSnapshot().matches('sampling') ?? false;
    const model = String(message.model);
    this.#requests += 1;
    const whose = {
      requestId: `usage-${this.#requests}`,
      ...(queryId === undefined ? {} : { queryId }),
    };
    const source = side === '' ? 'main' : 'subagent';
    this.#run.observe({
      type: 'request.sent',
      request: {
        ...{ ...whose, model, querySource: isSampling ? source : 'compact' },
        ...{ messages: 0, tools: 0, maxTokens: 0, body: () => ({}) as never },
      },
    });
    this.#run.observe({
      type: 'request.ended',
      answer: {
        ...{ ...whose, model, usage: message.usage as unknown as Usage, isAborted: false },
        usd: typeof costUSD === 'number' ? costUSD : null,
      },
    });
  }
}

function agentIn(input: unknown, name: string): { agent?: string; title: string } {
  const { description, subagent_type: agent } = isRecord(input) ? input : {};
  return {
    title: typeof description === 'string' ? description : name,
    ...(typeof agent === 'string' ? { agent } : {}),
  };
}
