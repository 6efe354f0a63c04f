/**
 * Which folders may act: run their hooks, set variables, allow calls, start servers. A folder is
 * trusted by a person, as it is now: what would act is pinned by a fingerprint, and when that has
 * changed (a pull, a stranger's commit) it is asked about again.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../services/make-folder.ts';
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
/** Files of a project that speak to the model. They do nothing, so they are not pinned. */
const speakingFiles: readonly string[] = ['AGENTS.md', 'CLAUDE.md'];
const STORE = 'trusted-folders.json';
/** Oldest first out: a list for a person, not a database. */
const FOLDERS_MAX = 500;

/** By folder: what was there when it was trusted. */
type Store = Readonly<Record<string, string>>;

/** @param home `$ESCAPEMENT_HOME`. @throws UsageError when the list cannot be read. */
export function trustOf(cwd: string, home: string): Trust {
  const files = [...actingFiles, ...speakingFiles];
  if (!files.some((file) => existsSync(join(cwd, file)))) return 'nothing_to_trust';
  const pinned = readStore(home)[realpathSync(cwd)];
  if (pinned === undefined) return 'unknown';
  return pinned === fingerprintOf(cwd) ? 'trusted' : 'changed';
}

/**
 * Remembers it. The home folder and the root of the disk are never remembered: everything lies
 * below them. @returns whether it was.
 */
export async function trustFolder(cwd: string, home: string): Promise<boolean> {
  const folder = realpathSync(cwd);
  if (folder === '/' || folder === realpathSync(homedir())) return false;
  const { [folder]: _, ...others } = readStore(home);
  const all = [...Object.entries(others), [folder, fingerprintOf(cwd)]].slice(-FOLDERS_MAX);
  makeFolder(home, 0o700);
  const { default: write } = await import('write-file-atomic');
  const text = `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`;
  await write(join(home, STORE), text, { mode: 0o600 });
  return true;
}

function fingerprintOf(cwd: string): string {
  const hash = createHash('sha256');
  for (const file of actingFiles) hash.update(`${file}\0${contentOf(join(cwd, file))}\0`);
  return hash.digest('hex');
}

/** A file that cannot be read is as good as another content: nobody is trusted by that. */
function contentOf(file: string): string {
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

/** Instructions that would be read to the model if the folder were trusted. */
export const instructionsOf = (cwd: string): readonly string[] =>
  speakingFiles.filter((file) => existsSync(join(cwd, file)));

/** What would act if the folder were trusted, in words for a person. Empty: only texts. */
export function actionsOf(cwd: string): readonly string[] {
  const read = (file: string): Readonly<Record<string, unknown>> => {
    try {
      const json: unknown = JSON.parse(readFileSync(join(cwd, file), 'utf8'));
      return json !== null && typeof json === 'object' ? (json as Record<string, unknown>) : {};
    } catch {
      return {};
    }
  };
  const settings = [read('.claude/settings.json'), read('.claude/settings.local.json')];
  const keys = (value: unknown) =>
    value !== null && typeof value === 'object' ? Object.keys(value) : [];
  const list = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  const permissions = settings.map((one) => one.permissions as Record<string, unknown> | undefined);
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ['runs hooks', settings.flatMap((one) => commandsIn(one.hooks))],
    ['sets variables', settings.flatMap((one) => keys(one.env))],
    ['allows without a question', permissions.flatMap((one) => list(one?.allow))],
    ['opens folders', permissions.flatMap((one) => list(one?.additionalDirectories))],
    ['starts servers', keys(read('.mcp.json').mcpServers)],
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
