/**
 * Results that were too long, and old versions of files, outlive their use. Transcripts are never
 * deleted here: they are the user's.
 */
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** As long as a session is likely to be resumed. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Once a day is enough, and costs every other session one look at one file. */
const SWEEP_EVERY_MS = 24 * 3_600_000;
/** One sweep must not hold up the end of a process: the rest is left for the next day. */
const FOLDERS_MAX = 200;
const PARTS = ['tool-results', 'file-history'] as const;

/**
 * Deletes these files of sessions that nobody has touched for 30 days.
 * @param projects `$ESCAPEMENT_HOME/projects`
 * @returns the folders that are gone. Never rejects: what cannot be deleted stays.
 */
export async function sweepOldFiles(projects: string, now: Date): Promise<readonly string[]> {
  const gone: string[] = [];
  try {
    if (!(await isDue(join(projects, '.swept'), now))) return gone;
    for (const project of await readdir(projects, { withFileTypes: true })) {
      if (!project.isDirectory()) continue;
      const folder = join(projects, project.name);
      for (const session of await readdir(folder, { withFileTypes: true })) {
        if (gone.length >= FOLDERS_MAX) return gone;
        if (session.isDirectory())
          gone.push(...(await sweepSession(join(folder, session.name), now)));
      }
    }
  } catch {
    // another process sweeps, or the folder is not ours: nothing depends on it
  }
  return gone;
}

async function isDue(marker: string, now: Date): Promise<boolean> {
  const before = await stat(marker).catch(() => undefined);
  if (before && now.getTime() - before.mtimeMs < SWEEP_EVERY_MS) return false;
  if (before) await utimes(marker, now, now);
  else await writeFile(marker, '', { mode: 0o600 });
  return true;
}

async function sweepSession(folder: string, now: Date): Promise<readonly string[]> {
  const transcript = await stat(`${folder}.jsonl`).catch(() => undefined);
  // Without a transcript it may be a session that is just being made.
  const touched = transcript ?? (await stat(folder).catch(() => undefined));
  if (!touched || now.getTime() - touched.mtimeMs < KEPT_MS) return [];
  const gone: string[] = [];
  for (const part of PARTS) {
    const path = join(folder, part);
    if (!(await stat(path).catch(() => undefined))) continue;
    await rm(path, { recursive: true, force: true });
    gone.push(path);
  }
  return gone;
}
