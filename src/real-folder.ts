/** One name for one folder: sessions are kept under it, whatever way led there. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from './usage-error.ts';

/** The process's. @throws UsageError where somebody has removed it under us. */
export function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    throw new UsageError('the working folder does not exist any more: go to another one (cd)');
  }
}

/**
 * The folder behind all links. Of one that is gone the part that is there is real: its sessions are
 * still found under the name that it had.
 */
export function realFolder(cwd: string): string {
  const folder = resolve(cwd);
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realFolder(parent), basename(folder));
  }
}
