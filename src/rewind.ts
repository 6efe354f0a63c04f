/** Back to a message: conversation, files of the edit tools, or both. */
import { type RewindFilesResult, rewindFiles } from '../services/journal/checkpoints.ts';
import { restore } from '../services/journal/restore.ts';
import type { LogMessage } from '../services/messages.ts';
import { bareUuid, isInvented } from '../services/preprocess/revise.ts';
import { fileStateOf } from '../services/tools/files/file-state.ts';
import type { EngineState } from './engine-state.ts';
import type { Session } from './session.ts';
import { openJournal } from './session-start.ts';

export interface RewindOptions {
  /** History ends with the message. Default: true. */
  readonly conversation?: boolean;
  /** Files that edit tools have changed since become what they were. Default: false. */
  readonly files?: boolean;
  /** Only says what would be done. */
  readonly dryRun?: boolean;
}

/**
 * @param named the message, or any version of it.
 * @throws when a turn runs, or the message is not in this session.
 */
export async function rewindEngine(
  engine: EngineState,
  named: string,
  options: RewindOptions,
): Promise<RewindFilesResult> {
  const messageUuid = bareUuid(named);
  if (engine.turn) {
    // A name that is wrong stays wrong after the turn: said first.
    await messagesUpTo(engine.session, engine.messages, messageUuid);
    throw new Error('a turn is running: interrupt it first');
  }
  const { conversation = true, dryRun = false } = options;
  await openJournal(engine);
  const messages = await messagesUpTo(engine.session, engine.messages, messageUuid);
  if (engine.turn) throw new Error('a turn has begun meanwhile: nothing was rewound');
  const rewound = await rewoundFiles(engine.session, messageUuid, options);
  if (rewound.canRewind && conversation && !dryRun) await goOnFrom(engine, messages);
  return rewound;
}

async function goOnFrom(engine: EngineState, messages: readonly LogMessage[]): Promise<void> {
  const { config, session, loadedNestedMemoryPaths: loaded } = engine;
  engine.history = session.log.rewrite(messages, 0);
  engine.left = undefined;
  engine.isDeferred = false;
  session.transcript.rewind(lineOf(messages));
  fileStateOf(engine.readFileState).forgetShown();
  loaded.clear();
  for (const path of config.memoryPaths ?? []) loaded.add(path);
  await session.transcript.commit();
}

/** Where they end in the file: it has no line for a version, and none for what we have invented. */
function lineOf(messages: readonly LogMessage[]): string | null {
  const last = messages.findLast(({ uuid }) => !isInvented(uuid));
  return last ? bareUuid(last.uuid) : null;
}

/**
 * From what stands, or from before the summary that stands there now.
 * @throws when the message is not in this session.
 */
async function messagesUpTo(
  { store, id }: Session,
  standing: readonly LogMessage[],
  uuid: string,
): Promise<readonly LogMessage[]> {
  const at = standing.findIndex((message) => bareUuid(message.uuid) === uuid);
  if (at >= 0) return standing.slice(0, at + 1);
  const older = await restore(store, id, { at: uuid });
  if (!older) throw new Error(`message ${uuid} is not in session ${id}`);
  return older.messages;
}

/** The files as they were when the message was said. */
async function rewoundFiles(
  { store, id, historyFolder: folder }: Session,
  messageUuid: string,
  { files = false, dryRun = false }: RewindOptions,
): Promise<RewindFilesResult> {
  if (!files) return { canRewind: true, filesChanged: [], conflicts: [] };
  return rewindFiles({ store, sessionId: id, folder, messageUuid, dryRun });
}
