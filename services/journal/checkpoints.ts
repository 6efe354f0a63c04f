/**
 * Versions of files as they were before a tool changed them, so that a conversation can be taken
 * back together with its work. What shells change is not seen here.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { isRecord } from '../is-record.ts';
import { makeFolder } from '../make-folder.ts';
import type { LedgerCall } from '../tools/executor/deps.ts';
import type { Tool } from '../tools/tool.ts';
import type { JournalStore } from './store.ts';

/** Larger files are not what edit tools change; they are left out, and a rewind says so. */
const FILE_BYTES_MAX = 16 << 20;

/** A file as it was. `null`: it was not there. `'unkept'`: too large, or no regular file. */
type Version = { readonly hash: string; readonly mode: number } | null | 'unkept';

export interface CheckpointDeps {
  /** `file-history` in the session's folder; made on first use, 0700. */
  readonly folder: string;
  readonly tools: () => readonly Tool[];
  readonly cwd: () => string;
  readonly note: (type: string, fields: Readonly<Record<string, unknown>>) => void;
}

export interface FileCheckpoints {
  /** *Contract:* rejects when a version cannot be kept: then the call is not run. */
  before(call: LedgerCall): Promise<void>;
  after(call: LedgerCall): Promise<void>;
}

/** Nothing is kept: sessions that are not written down cannot be taken back. */
export const noCheckpoints: FileCheckpoints = {
  before: () => Promise.resolve(),
  after: () => Promise.resolve(),
};

export function createCheckpoints({ folder, tools, cwd, note }: CheckpointDeps): FileCheckpoints {
  const pathsOf = async ({ name, input }: LedgerCall): Promise<readonly string[]> => {
    const touches = tools()
      .find((tool) => tool.name === name)
      ?.touches(input);
    if (touches?.kind !== 'edit') return [];
    const real = touches.paths.map((path) =>
      realTarget(isAbsolute(path) ? path : resolve(cwd(), path)),
    );
    return [...new Set(await Promise.all(real))];
  };
  return {
    async before(call) {
      for (const path of await pathsOf(call)) {
        const version = await keep(path, folder);
        note('file-checkpoint', { toolUseId: call.id, path, before: version });
      }
    },
    async after(call) {
      for (const path of await pathsOf(call)) {
        const after = await versionOf(path).catch(() => 'unkept' as const);
        note('file-changed', { toolUseId: call.id, path, after });
      }
    },
  };
}

/** Behind all links; of a file that is not there yet, its folder's. */
async function realTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(await realTarget(folder), basename(path));
  }
}

/** No file can be under such a path. What is wrong with it the tool says itself, in better words. */
const isNowhere = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EINVAL', 'ERR_INVALID_ARG_VALUE'].includes(code);

async function versionOf(path: string): Promise<Version> {
  const stats = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (isNowhere(error)) return undefined;
    if (error.code === 'EACCES' || error.code === 'EPERM') return 'unkept' as const;
    throw error;
  });
  if (!stats) return null;
  if (stats === 'unkept') return stats;
  if (!stats.isFile() || stats.size > FILE_BYTES_MAX) return 'unkept';
  return { hash: hashOf(await readFile(path)), mode: stats.mode & 0o777 };
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The same content is kept once, whatever file it was in. */
async function keep(path: string, folder: string): Promise<Version> {
  const version = await versionOf(path);
  if (version === null || version === 'unkept') return version;
  makeFolder(folder, 0o700);
  const copy = join(folder, version.hash);
  const isKept = await stat(copy).then(
    () => true,
    () => false,
  );
  if (isKept) return version;
  const bytes = await readFile(path);
  const hash = hashOf(bytes); // it may have changed since: what is kept is what its name says
  await putFile(join(folder, hash), bytes, 0o600);
  return { ...version, hash };
}

/** Whole or not at all, and on the disk. */
async function putFile(path: string, bytes: Buffer, mode: number): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  try {
    const file = await open(draft, 'wx', mode);
    try {
      await file.writeFile(bytes);
      await file.chmod(mode); // what the umask has taken off
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

export interface RewindFilesRequest {
  readonly store: JournalStore;
  readonly sessionId: string;
  readonly folder: string;
  /** Files become what they were when this message had just been said. */
  readonly messageUuid: string;
  readonly dryRun: boolean;
}

export interface RewindFilesResult {
  readonly canRewind: boolean;
  readonly error?: string;
  /** Changed (or, with `dryRun`, to be changed). */
  readonly filesChanged: readonly string[];
  /** Left as they are: somebody else has changed them since, or their old version was not kept. */
  readonly conflicts: readonly { readonly path: string; readonly reason: string }[];
}

interface Change {
  /** Of the oldest change after the message: what the file was. */
  before: Version;
  /** Of the newest: what the tools have left. */
  after: Version | undefined;
}

/**
 * Takes back what edit tools did after a message. A file that was changed by anybody else since is
 * left alone. Nothing is written before all is known.
 */
export async function rewindFiles(request: RewindFilesRequest): Promise<RewindFilesResult> {
  const changes = await changesSince(request);
  if (!changes) {
    const error = `message ${request.messageUuid} is not in session ${request.sessionId}`;
    return { canRewind: false, error, filesChanged: [], conflicts: [] };
  }
  const wanted: { path: string; before: Version }[] = [];
  const conflicts: { path: string; reason: string }[] = [];
  for (const [path, { before, after }] of changes) {
    const now = await versionOf(path).catch(() => 'unkept' as const);
    if (isSame(now, before)) continue;
    const reason = await objection(request.folder, before, after, now);
    if (reason === undefined) wanted.push({ path, before });
    else conflicts.push({ path, reason });
  }
  if (!request.dryRun) {
    for (const { path, before } of wanted) await putBack(path, before, request.folder);
  }
  return { canRewind: true, filesChanged: wanted.map(({ path }) => path), conflicts };
}

async function objection(
  folder: string,
  before: Version,
  after: Version | undefined,
  now: Version,
): Promise<string | undefined> {
  if (before === 'unkept') return 'its old version was not kept: it is too large, or no file';
  // A change whose end was not seen (a crash): the file may be half of anything.
  if (after !== undefined && !isSame(now, after)) return 'it was changed since by somebody else';
  if (before === null) return undefined;
  const isKept = await open(join(folder, before.hash), constants.O_RDONLY).then(
    (file) => file.close().then(() => true),
    () => false,
  );
  return isKept ? undefined : 'its old version is not there any more';
}

const isSame = (one: Version, other: Version): boolean =>
  one === null || other === null || one === 'unkept' || other === 'unkept'
    ? one === other && one !== 'unkept'
    : one.hash === other.hash;

async function putBack(path: string, before: Version, folder: string): Promise<void> {
  if (before === 'unkept') return;
  if (before === null) return rm(path, { force: true });
  makeFolder(dirname(path));
  const bytes = await readFile(join(folder, before.hash));
  await putFile(path, bytes, before.mode);
}

/** Read back to the message. `undefined` when it is not there. */
async function changesSince(
  request: RewindFilesRequest,
): Promise<ReadonlyMap<string, Change> | undefined> {
  const { store, sessionId, messageUuid } = request;
  const changes = new Map<string, Change>();
  for await (const stored of store.readBack(sessionId)) {
    if (stored.kind === 'damaged') continue;
    const { record } = stored;
    if (record.uuid === messageUuid && isRecord(record.message)) return changes;
    if (typeof record.path !== 'string') continue;
    const known = changes.get(record.path);
    if (record.type === 'file-changed' && !known) {
      changes.set(record.path, { before: null, after: record.after as Version });
    } else if (record.type === 'file-checkpoint') {
      changes.set(record.path, { before: record.before as Version, after: known?.after });
    }
  }
  return undefined;
}
