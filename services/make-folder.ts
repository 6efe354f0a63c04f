/** A folder with all that leads to it, made one by one. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Not `mkdir` with `recursive`: where a file system answers ENOENT below a folder that exists
 * (`/proc`), Node tries it again for ever.
 * @throws what `mkdir` says; a folder that is there already is fine.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at) && at !== dirname(at); at = dirname(at)) {
    missing.push(at);
  }
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // made by another process
    }
  }
}
