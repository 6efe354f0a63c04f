/**
 * Which folders may act: run their hooks, set variables, allow calls, start servers. A folder is
 * trusted by a person, as it is now: what would act is pinned by a fingerprint, and when that has
 * changed (a pull, a stranger's commit) it is asked about again.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { makeFolder } from '../services/make-folder.ts';
import { foldersBetween, memoryNames, projectRoot } from '../services/memory/memory-files.ts';
import { userHomeOf } from './home-folders.ts';
import { hookScripts } from './hook-scripts.ts';
import { isFile } from './stats-of.ts';
import { UsageError } from './usage-error.ts';

export type Trust =
  /** There is nothing in the folder that could act. */
  | 'nothing_to_trust'
  | 'trusted'
  /** Nobody was asked yet. */
  | 'unknown'
  /** It was trusted, and what would act is not the same any more. */
  | 'changed';

/** Files of a project that act. */
const actingFiles: readonly string[] = [
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.mcp.json',
];
/** Read to the model, from here up to the root of the repository. They do nothing: not pinned. */
const instructionFiles: readonly string[] = [...memoryNames, 'CLAUDE.local.md'];
/** Folders of a project that speak to the model when they are asked for. Not pinned either. */
const definitionFolders = ['commands', 'skills', 'agents'].map((kind) => join('.claude', kind));
const STORE = 'trusted-folders.json';
/** Oldest first out: a list for a person, not a database. */
const FOLDERS_MAX = 500;

/** By folder: what was there when it was trusted. */
type Store = Readonly<Record<string, string>>;

/** @param home `$ESCAPEMENT_HOME`. @throws UsageError when the list cannot be read. */
export function trustOf(cwd: string, home: string): Trust {
  const acts = actingFiles.some((file) => existsSync(join(cwd, file)));
  if (!acts && instructionsOf(cwd).length === 0) return 'nothing_to_trust';
  const pinned = readStore(home)[realpathSync(cwd)];
  if (pinned === undefined) return 'unknown';
  return pinned === fingerprintOf(cwd) ? 'trusted' : 'changed';
}

/**
 * Remembers it. The home folder and the root of the disk are never remembered: everything lies
 * below them; nor is a folder with more scripts of hooks than are looked at. @returns whether it was.
 */
export async function trustFolder(cwd: string, home: string): Promise<boolean> {
  const folder = realpathSync(cwd);
  const fingerprint = fingerprintOf(cwd);
  const isAbove = folder === '/' || folder === realpathSync(userHomeOf(process.env));
  if (isAbove || fingerprint === undefined) return false;
  const { [folder]: _, ...others } = readStore(home);
  const all = [...Object.entries(others), [folder, fingerprint]].slice(-FOLDERS_MAX);
  makeFolder(home, 0o700);
  const { default: write } = await import('write-file-atomic');
  const text = `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`;
  await write(join(home, STORE), text, { mode: 0o600 });
  return true;
}

/** `undefined`: there is more that acts than can be pinned. */
function fingerprintOf(cwd: string): string | undefined {
  const scripts = hookScripts(
    cwd,
    settingsOf(cwd).flatMap((one) => commandsIn(one.hooks)),
  );
  if (!scripts) return undefined;
  const hash = createHash('sha256');
  for (const file of [...actingFiles, ...scripts]) {
    hash.update(`${file}\0${contentOf(join(cwd, file))}\0`);
  }
  return hash.digest('hex');
}

/** A file that cannot be read is as good as another content: nobody is trusted by that. */
function contentOf(file: string): string {
  if (existsSync(file) && !isFile(file)) return 'no file';
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

function readStore(home: string): Store {
  const file = join(home, STORE);
  if (!existsSync(file)) return {};
  try {
    const store: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (store !== null && typeof store === 'object' && !Array.isArray(store)) return store as Store;
  } catch {
    // said below
  }
  throw new UsageError(`${file}: no list of trusted folders: correct or remove it`);
}

/**
 * What would be read to the model if the folder were trusted, as paths from it: instructions, here
 * and in the folders above up to the root of the repository, and folders of definitions.
 */
export function instructionsOf(cwd: string): readonly string[] {
  const folder = realpathSync(cwd);
  const above = foldersBetween(projectRoot(folder), folder);
  const files = above.flatMap((one) => instructionFiles.map((name) => join(one, name)));
  return [...files, ...definitionFolders.map((name) => join(folder, name))]
    .filter((path) => existsSync(path))
    .map((path) => relative(folder, path));
}

function readObject(file: string): Readonly<Record<string, unknown>> {
  if (!isFile(file)) return {};
  try {
    const json: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return json !== null && typeof json === 'object' ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const settingsOf = (cwd: string) =>
  ['.claude/settings.json', '.claude/settings.local.json'].map((file) =>
    readObject(join(cwd, file)),
  );

/** What would act if the folder were trusted, in words for a person. Empty: only texts. */
export function actionsOf(cwd: string): readonly string[] {
  const settings = settingsOf(cwd);
  const keys = (value: unknown) =>
    value !== null && typeof value === 'object' ? Object.keys(value) : [];
  const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  const permissions = settings.map((one) => one.permissions as Record<string, unknown> | undefined);
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ['runs hooks', settings.flatMap((one) => commandsIn(one.hooks))],
    ['sets variables', settings.flatMap((one) => keys(one.env))],
    ['allows without a question', permissions.flatMap((one) => list(one?.allow))],
    ['opens folders', permissions.flatMap((one) => list(one?.additionalDirectories))],
    ['starts servers', keys(readObject(join(cwd, '.mcp.json')).mcpServers)],
  ];
  return lines
    .filter(([, what]) => what.length > 0)
    .map(([does, what]) => `${does}: ${what.join(', ')}`);
}

/** The commands of hooks, wherever they stand in what is perhaps no valid setting. */
function commandsIn(hooks: unknown): readonly string[] {
  if (Array.isArray(hooks)) return hooks.flatMap(commandsIn);
  if (hooks === null || typeof hooks !== 'object') return [];
  return Object.entries(hooks).flatMap(([key, value]) =>
    key === 'command' && typeof value === 'string' ? [value] : commandsIn(value),
  );
}
