/** One name for one folder: sessions are kept under it, whatever way led there. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

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
