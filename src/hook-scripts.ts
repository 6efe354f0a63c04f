/**
 * The files of a project that its hooks run: whoever trusts `bash .claude/hooks/check.sh` trusts
 * what stands in it. What those files run in their turn nobody can tell from outside.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isFile, statsOf } from './stats-of.ts';

/** Where a project keeps them. All in it counts, since one may call the other. */
const HOOKS_FOLDER = join('.claude', 'hooks');
/** More are no hooks; and each start reads them all. */
const FILES_MAX = 1_000;

/** Programs whose next word is a script. */
const interpreters =
  /^(?:\S*\/)?(?:sh|bash|dash|zsh|ksh|fish|node|deno|bun|tsx|python3?|ruby|perl|php|source|\.)$/;

/**
 * @param commands of the hooks, as the settings have them.
 * @returns paths from `cwd`, sorted. `undefined`: there are more than are looked at.
 */
export function hookScripts(
  cwd: string,
  commands: readonly string[],
): readonly string[] | undefined {
  const found = new Set(commands.flatMap((command) => scriptsOf(command, cwd)));
  const isComplete = addFilesIn(join(cwd, HOOKS_FOLDER), cwd, found);
  return isComplete && found.size <= FILES_MAX ? [...found].sort() : undefined;
}

/** A program of the project, a script that is handed to one, or any file below `.claude`. */
function scriptsOf(command: string, cwd: string): readonly string[] {
  const placed = command.replace(/\$(?:\{CLAUDE_PROJECT_DIR\}|CLAUDE_PROJECT_DIR\b)/g, cwd);
  return placed.split(/[;|&\n()]+/).flatMap((part) => {
    const words = part.split(/\s+/).map((word) => word.replace(/["'`]/g, ''));
    const runs = words.filter(
      (word) => word !== '' && !/^\w+=/.test(word) && !word.startsWith('-'),
    );
    return runs.flatMap((word, at) => {
      const path = relative(cwd, resolve(cwd, word));
      const isRun = (at === 0 && word.includes('/')) || interpreters.test(runs[at - 1] ?? '');
      const isOfProject = path !== '' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
      const counts = isOfProject && (isRun || path.startsWith(`.claude${sep}`));
      return counts && isFile(join(cwd, path)) ? [path] : [];
    });
  });
}

/** @returns whether there were few enough. A link to a file counts as what it leads to. */
function addFilesIn(folder: string, cwd: string, found: Set<string>): boolean {
  const stats = statsOf(folder, lstatSync);
  if (!stats) return true;
  // What a link leads to could be anything, and as large as the disk.
  if (!stats.isDirectory()) return !stats.isSymbolicLink();
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!addFilesIn(path, cwd, found)) return false;
    } else found.add(relative(cwd, path));
    if (found.size > FILES_MAX) return false;
  }
  return true;
}
