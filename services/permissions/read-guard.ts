/** For tools that search: which of the files that they find a deny rule hides. */
import { existsSync } from 'node:fs';
import { guardPath } from './judge-paths.ts';
import type { OwnFolder } from './own-folder.ts';
import { diskFileSystem, type FileSystem, placeHidden } from './paths.ts';
import { rulesOf } from './rules.ts';
import type { ToolPermissionContext } from './types.ts';

export interface ReadGuardOptions {
  /** Absolute. What `~` stands for. */
  readonly home: string;
  /** Absolute: where rules hang. Default: the folder of the call. */
  readonly root?: string;
  /** The engine's own, part of which is hidden whatever the rules say. */
  readonly own?: OwnFolder;
  readonly fileSystem?: FileSystem;
}

/** May this file be shown? Paths are absolute or relative to the folder. */
export type ReadGuard = (path: string) => Promise<boolean>;

/**
 * One guard for one search: what it has looked at it does not look at again. A call to `Grep` is
 * judged by its folder alone, so a denied file below it has to be left out here.
 * @returns `undefined` when nothing hides any file, so that a search need not ask.
 */
export function createReadGuard(
  context: ToolPermissionContext,
  cwd: string,
  options: ReadGuardOptions,
): ReadGuard | undefined {
  const rules = rulesOf(context);
  const hidesFiles = rules.deny.some(({ tool, spec }) => tool === 'Read' && spec.kind === 'path');
  const { home, root = cwd, own, fileSystem = diskFileSystem } = options;
  // Most have granted nothing: their searches need not ask.
  const isOwnHidden = own?.hidden.some((folder) => existsSync(folder)) ?? false;
  if (!hidesFiles && !isOwnHidden) return undefined;
  const place = { cwd, root, home, fileSystem, seen: new Map(), ...(own ? { own } : {}) };
  const check = { rules, place, readable: [], editable: [] };
  return async (path) => (await guardPath(path, 'read', check)).kind !== 'deny';
}

/**
 * Files and folders that deny rules for `Read` name as a whole: a sandbox can keep programs from
 * them as well. Absolute; they need not exist.
 */
export function hiddenPlaces(
  context: ToolPermissionContext,
  { home, root }: { readonly home: string; readonly root: string },
): readonly string[] {
  const place = { cwd: root, root, home, fileSystem: diskFileSystem };
  return rulesOf(context).deny.flatMap(({ tool, spec }) =>
    tool === 'Read' && spec.kind === 'path' ? placeHidden(spec.pattern, place) : [],
  );
}
