/** Instructions of the user and of the project, as a conversation begins with them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withImports } from './imports.ts';
import { FOLDERS_MAX } from './limits.ts';

/** In this order; a link from one to the other is read once. */
export const memoryNames = ['AGENTS.md', 'CLAUDE.md', join('.claude', 'CLAUDE.md')] as const;
const localName = 'CLAUDE.local.md';

export interface MemoryPlace {
  /** A real path. */
  readonly cwd: string;
  /** `$ESCAPEMENT_HOME`. */
  readonly home: string;
  /** What `~` stands for. */
  readonly userHome: string;
  /** Who is trusted to instruct. */
  readonly sources: readonly ('user' | 'project' | 'local')[];
}

export interface Memory {
  /** One text for each file with its imports: user, then from the repository's root to `cwd`. */
  readonly texts: readonly string[];
  /** Real paths of all that was read. */
  readonly paths: ReadonlySet<string>;
}

/** Reads what the sources allow. What cannot be read is left out. */
export async function loadMemory({ cwd, home, userHome, sources }: MemoryPlace): Promise<Memory> {
  const known = new Set<string>();
  const texts: string[] = [];
  const add = async (path: string, within?: string) => {
    const rules = { userHome, ...(within === undefined ? {} : { within }) };
    const text = await withImports(path, rules, known);
    if (text !== undefined) texts.push(text);
  };
  if (sources.includes('user')) {
    for (const name of memoryNames.slice(0, 2)) await add(join(home, name));
  }
  const root = projectRoot(cwd);
  for (const folder of foldersBetween(root, cwd)) {
    const names = [
      ...(sources.includes('project') ? memoryNames : []),
      ...(sources.includes('local') ? [localName] : []),
    ];
    for (const name of names) await add(join(folder, name), root);
  }
  return { texts, paths: known };
}

/** The repository that a folder lies in; outside of one, the folder itself. */
export function projectRoot(cwd: string): string {
  let folder = cwd;
  for (let n = 0; n < FOLDERS_MAX; n += 1) {
    if (existsSync(join(folder, '.git'))) return folder;
    const above = dirname(folder);
    if (above === folder) break;
    folder = above;
  }
  return cwd;
}

/** From the outer folder to the inner one, both included. */
export function foldersBetween(outer: string, inner: string): readonly string[] {
  const folders: string[] = [];
  for (let folder = inner; folders.length < FOLDERS_MAX; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === outer || dirname(folder) === folder) break;
  }
  return folders;
}
