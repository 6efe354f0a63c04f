/** From "go on with that session" to a session that is read, checked and ours alone. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileJournalStore } from '../services/journal/file-store.ts';
import { type Restored, RestoreError, restore } from '../services/journal/restore.ts';
import {
  isSessionId,
  type JournalStore,
  type JournalWriter,
  SessionInUseError,
} from '../services/journal/store.ts';
import { projectFolder } from '../services/journal/transcript.ts';
import { messageOf } from '../services/message-of.ts';
import type { ResumedSession } from './config.ts';
import { UsageError } from './usage-error.ts';

/** What a host says about the session, in the names of the options. */
export interface ResumeRequest {
  readonly resume?: string | undefined;
  readonly continue?: boolean | undefined;
  readonly forkSession?: boolean | undefined;
  readonly resumeSessionAt?: string | undefined;
  readonly sessionId?: string | undefined;
}

export interface Place {
  readonly home: string;
  readonly cwd: string;
  /** Default: files below `home`. */
  readonly store?: JournalStore | undefined;
}

export interface OpenedSession {
  readonly sessionId: string;
  /** Absent: it is a new one. */
  readonly resumed?: ResumedSession;
}

/**
 * Finds, locks and reads the session. The lock comes before the reading: what is read is what the
 * next line is written after.
 * @throws UsageError with cause and remedy: no such session, in use, newer version.
 */
export async function openRequested(request: ResumeRequest, place: Place): Promise<OpenedSession> {
  const { forkSession = false, resumeSessionAt: at, sessionId: wanted } = request;
  if (wanted !== undefined && !isSessionId(wanted)) {
    throw new UsageError(`${wanted} is no session id: letters, digits, - and _ (a UUID is best)`);
  }
  const store =
    place.store ?? new FileJournalStore({ folder: projectFolder(place.home, place.cwd) });
  const id = request.resume ?? (request.continue ? await newest(store) : undefined);
  if (id === undefined) return newSession(request, store);
  if (!isSessionId(id)) throw new UsageError(`${id} is no session id`);
  if (!(await isThere(store, id))) throw new UsageError(await missing(id, place, store));
  if (forkSession) {
    const restored = await read(store, id, at);
    return {
      sessionId: wanted ?? randomUUID(),
      resumed: {
        restored,
        forkedFrom: id,
        isRewound: false,
        resultFolders: [resultsOf(id, place)],
      },
    };
  }
  if (wanted !== undefined && wanted !== id) {
    throw new UsageError(
      `a resumed session keeps its id (${id}): leave --session-id away, or add --fork-session`,
    );
  }
  const writer = await hold(store, id);
  try {
    const restored = await read(store, id, at);
    const resumed = { restored, writer, isRewound: at !== undefined, resultFolders: [] };
    return { sessionId: id, resumed };
  } catch (error) {
    await writer.close();
    throw error;
  }
}

async function newSession(
  { resumeSessionAt, sessionId, forkSession, continue: goesOn }: ResumeRequest,
  store: JournalStore,
): Promise<OpenedSession> {
  if (forkSession && !goesOn) {
    throw new UsageError('--fork-session needs the session: add --resume <session> or --continue');
  }
  if (resumeSessionAt !== undefined) {
    throw new UsageError('--resume-session-at needs the session: add --resume <session>');
  }
  if (sessionId !== undefined && (await store.first(sessionId)) !== undefined) {
    throw new UsageError(`session ${sessionId} is there already: go on with --resume ${sessionId}`);
  }
  return { sessionId: sessionId ?? randomUUID() };
}

/** The newest session of this folder in which something was said; without one a new one begins. */
async function newest(store: JournalStore): Promise<string | undefined> {
  const sessions = await store.list();
  return sessions.reduce(
    (best, one) => (one.modifiedMs > (best?.modifiedMs ?? Number.NEGATIVE_INFINITY) ? one : best),
    sessions[0],
  )?.sessionId;
}

async function isThere(store: JournalStore, id: string): Promise<boolean> {
  try {
    for await (const _ of store.readBack(id)) return true;
    return false;
  } catch (error) {
    throw new UsageError(`session ${id} cannot be read: ${messageOf(error)}`);
  }
}

async function hold(store: JournalStore, id: string): Promise<JournalWriter> {
  try {
    return await store.open(id);
  } catch (error) {
    if (error instanceof SessionInUseError) throw new UsageError(error.message);
    throw new UsageError(`session ${id} cannot be opened: ${(error as Error).message}`);
  }
}

async function read(store: JournalStore, id: string, at: string | undefined): Promise<Restored> {
  const restored = await restore(store, id, at === undefined ? {} : { at }).catch((error) => {
    if (error instanceof RestoreError) throw new UsageError(error.message);
    throw error;
  });
  if (restored) return restored;
  throw new UsageError(`nothing to resume: session ${id} cannot be read`);
}

/** More ids are no help. */
const NAMED_MAX = 3;

/** Sessions belong to their folder: the remedy is to go there, or to take one of those here. */
async function missing(
  id: string,
  { home, cwd, store }: Place,
  opened: JournalStore,
): Promise<string> {
  const projects = join(home, 'projects');
  const own = projectFolder(home, cwd);
  const fileIn = (folder: string) => join(folder, `${id}.jsonl`);
  if (!store && existsSync(fileIn(own))) {
    return `nothing to resume: ${fileIn(own)} has no line, nothing was said in it: remove it`;
  }
  const others = store || !existsSync(projects) ? [] : readdirSync(projects);
  const elsewhere = others.find((name) => existsSync(fileIn(join(projects, name))));
  const here = [...(await opened.list())].sort((a, b) => b.modifiedMs - a.modifiedMs);
  const ids = here.slice(0, NAMED_MAX).map(({ sessionId }) => sessionId);
  const where =
    elsewhere === undefined
      ? ids.length === 0
        ? 'nor any other'
        : `the newest here: ${ids.join(', ')} (--continue goes on with the first)`
      : `it belongs to another folder (${elsewhere}): start there, or name it with cwd`;
  return `nothing to resume: there is no session ${id} for ${cwd}: ${where}`;
}

const resultsOf = (id: string, { home, cwd }: Place) =>
  join(projectFolder(home, cwd), id, 'tool-results');
