/** Looks at what stands at a path, where somebody may have named anything. */
import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * What a path leads to; `undefined` for what cannot be looked at, whatever the reason (nothing is
 * there, something above it is no folder, the name is too long, links in a circle).
 * @param look `lstatSync`: at the link itself.
 */
export function statsOf(path: string, look: typeof statSync = statSync): Stats | undefined {
  try {
    return look(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** A pipe would be waited for, and a device may have no end. */
export const isFile = (path: string): boolean => statsOf(path)?.isFile() === true;

export const isFolder = (path: string): boolean => statsOf(path)?.isDirectory() === true;

/** It is there, or it could be made. */
export function mayBeFolder(path: string): boolean {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    const above = dirname(path);
    return stats ? stats.isDirectory() : above !== path && mayBeFolder(above);
  } catch {
    return false;
  }
}
