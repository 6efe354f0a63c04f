/** A session at its begin: what is new in it, and what a resumed one has from the process before. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  createCheckpoints,
  type FileCheckpoints,
  noCheckpoints,
} from '../services/journal/checkpoints.ts';
import { FileJournalStore } from '../services/journal/file-store.ts';
import { createLedger } from '../services/journal/ledger.ts';
import type { JournalStore } from '../services/journal/store.ts';
import {
  noTranscript,
  openTranscript,
  projectFolder,
  type Transcript,
  transcriptPath,
} from '../services/journal/transcript.ts';
import { MessageLog } from '../services/message-log.ts';
import { defaultModel } from '../services/model/model-table.ts';
import { Purse } from '../services/model/purse.ts';
import { UsageMeter } from '../services/model/usage.ts';
import { createTokenCounter } from '../services/preprocess/token-count.ts';
import type { QueryEngineConfig } from './config.ts';
import { PromptQueue } from './prompt-queue.ts';
import type { Session } from './session.ts';
import { sessionHooks } from './session-hooks.ts';
import { Watch } from './watch.ts';

type Offers = Pick<Session, 'tools' | 'commands'>;

/** Nothing is written or asked yet. */
export function openSession(
  config: QueryEngineConfig,
  id: string,
  version: string,
  offers: Offers,
): Session {
  const { tools } = offers;
  const log = new MessageLog();
  const usage = usedBefore(config);
  const places = placesOf(config, id);
  const written = writtenDown(config, { id, version, places, tools, session: () => session });
  const { uuid } = places;
  const session: Session = {
    ...{ id, config, log, usage, uuid, now: places.now, ...offers, ...written },
    usageBefore: usage.snapshot(),
    tokens: createTokenCounter({
      log,
      fixed: () => ({
        system: session.systemPrompt,
        tools: tools(),
        userContext: session.userContext,
      }),
    }),
    runHooks: sessionHooks(config, { id, transcriptPath: places.path, uuid, tools }, (message) =>
      session.tellHost(message),
    ),
    watch: new Watch(),
    toolState: config.readFileCache,
    defaultModel: defaultModel(),
    folder: places.folder,
    historyFolder: places.historyFolder,
    callIds: new Set(callIdsOf(config)),
    spending: new Purse(config.limits?.usdMax ?? config.maxBudgetUsd),
    ...stateOf(config),
  };
  return session;
}

/** Who names things and times, and where the session's files are. */
function placesOf({ deps, home, cwd }: QueryEngineConfig, id: string) {
  const path = transcriptPath(home, cwd, id);
  const ownFolder = path.slice(0, -'.jsonl'.length);
  return {
    path,
    uuid: untilItThrows(deps?.uuid, randomUUID),
    now: untilItThrows(deps?.now, () => new Date()),
    folder: join(ownFolder, 'tool-results'),
    historyFolder: join(ownFolder, 'file-history'),
  };
}

/** A resumed session goes on counting; a fork has cost nothing yet. */
function usedBefore({ resumed }: QueryEngineConfig): UsageMeter {
  const usage = new UsageMeter();
  if (!resumed || resumed.forkedFrom !== undefined) return usage;
  const { totals, costs } = resumed.restored;
  for (const [model, used] of Object.entries(totals)) usage.addSum(model, used, costs[model] ?? 0);
  return usage;
}

interface WrittenParts extends Pick<Session, 'id' | 'tools'> {
  readonly version: string;
  readonly places: ReturnType<typeof placesOf>;
  /** Once it is made. */
  readonly session: () => Session;
}

/** What is written down while it goes on, if anything is. */
function writtenDown(
  config: QueryEngineConfig,
  parts: WrittenParts,
): Pick<Session, 'store' | 'transcript' | 'ledger'> {
  const { persistSession = true, bare: isBare = false, home, cwd } = config;
  const { tools, session, places } = parts;
  const { path, now, historyFolder: folder } = places;
  const store = config.journal ?? new FileJournalStore({ folder: projectFolder(home, cwd), now });
  if (!persistSession) return { store, transcript: noTranscript(path), ledger: undefined };
  const transcript = transcriptOf(config, store, parts);
  const checkpoints: FileCheckpoints = isBare
    ? noCheckpoints
    : createCheckpoints({
        ...{ folder, tools },
        cwd: () => session().cwd,
        note: (type, fields) => transcript.note(type, fields),
      });
  return { store, transcript, ledger: createLedger({ transcript, checkpoints, isBare }) };
}

const transcriptOf = (
  config: QueryEngineConfig,
  store: JournalStore,
  { id, version, places: { path, now, uuid }, session }: WrittenParts,
): Transcript =>
  openTranscript({
    path,
    openWriter: async () => config.resumed?.writer ?? (await store.open(id)),
    ...{ sessionId: id, cwd: config.cwd, version, now, uuid },
    onFailure: (error) => session().onDiskFailure(error),
    ...beginOf(config),
  });

/** What changes while it goes on, as it is at first. */
const stateOf = ({ cwd, memoryPaths, resumed }: QueryEngineConfig) => ({
  collapses: new Map(resumed?.restored.collapses.map((one) => [one.id, one])),
  contextEditing: { refusal: undefined },
  queue: new PromptQueue(),
  cwd,
  systemPrompt: [],
  userContext: '',
  primaryModel: '',
  chosenModel: undefined,
  title: resumed?.restored.title,
  autoCompactTracking: undefined,
  lastRequest: undefined,
  snipRequest: resumed?.restored.snipRequest,
  taskBudgetRemaining: undefined,
  notices: [],
  loadedNestedMemoryPaths: new Set(memoryPaths),
  discoveredSkillNames: new Set<string>(),
  start: {
    ...{ hasBegun: false, contexts: [] },
    halfSaid: [...(resumed?.restored.shownPartly ?? [])],
  },
  stopping: [],
  tellHost: () => {},
  onDiskFailure: () => {},
});

/** Of calls that were made before this process; the ledger knows those behind a summary. */
function callIdsOf({ resumed, initialMessages = [] }: QueryEngineConfig): readonly string[] {
  const said = resumed?.restored.messages ?? initialMessages;
  const ids = said.flatMap(({ kind, toolUseId = '' }) => (kind === 'tool_use' ? toolUseId : []));
  return [...ids, ...(resumed?.restored.ledger.keys() ?? [])];
}

/** How the file of a resumed session goes on, and with what the file of a fork begins. */
function beginOf({ resumed }: QueryEngineConfig) {
  if (!resumed) return {};
  const { restored, forkedFrom } = resumed;
  if (forkedFrom === undefined) return { isResumed: true, tip: restored.tip };
  const { messages: begin, replacements, collapses } = restored;
  const { isSettled, ...reading } = restored.reading;
  return { forkedFrom, begin, replacements, collapses, reading: isSettled ? reading : undefined };
}

/**
 * The host's, until it throws: that ends the turn which asked, and from then on ours is asked, so
 * that the turn has its last word.
 */
function untilItThrows<T>(theirs: (() => T) | undefined, ours: () => T): () => T {
  let current = theirs ?? ours;
  return () => {
    try {
      return current();
    } catch (error) {
      current = ours;
      throw error;
    }
  };
}
