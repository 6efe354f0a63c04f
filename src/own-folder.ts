/** What in `$ESCAPEMENT_HOME` tools must keep away from. */
import { join } from 'node:path';
import type { OwnFolder } from '../services/permissions/own-folder.ts';

/** What was granted at servers. @param home `$ESCAPEMENT_HOME`. */
export const grantsFolder = (home: string): string => join(home, 'mcp-grants');

export const ownFolder = (home: string): OwnFolder => ({
  folder: home,
  hidden: [grantsFolder(home)],
});
