/** A file of coverage that is named and not there: the page would only say that there is none. */

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { UsageError } from '../usage-error.ts';

/** @throws UsageError naming flag, file and remedy. */
export async function mustBeReadable(flag: string, file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    throw new UsageError(`${flag} ${file}: ${why}: name what the tests write, coverage/chart.json`);
  }
}
