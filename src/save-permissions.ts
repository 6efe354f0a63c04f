/**
 * Keeps what a person or a host has allowed for longer than this session, in the settings file that
 * they named. Everything else in the file stays as it was.
 */
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../services/make-folder.ts';
import { type PermissionUpdate, ruleText } from '../services/permissions/updates.ts';
import { type SettingSource, settingsFiles } from './settings.ts';
import { trustFolder, trustOf } from './trust.ts';

export interface SavePlace {
  readonly cwd: string;
  /** `$ESCAPEMENT_HOME`. */
  readonly home: string;
  /** Only files that this session reads are written: others would change what nobody looks at. */
  readonly sources: readonly SettingSource[];
}

type Json = Readonly<Record<string, unknown>>;

const sourceOf: Partial<Record<PermissionUpdate['destination'], SettingSource>> = {
  userSettings: 'user',
  projectSettings: 'project',
  localSettings: 'local',
};

/** Two answers at once must not write over each other. */
let last: Promise<unknown> = Promise.resolve();

/**
 * @returns in words, what was not kept and why; it counts for the session all the same.
 * *Contract:* never throws. A file that is not understood is not touched.
 */
export function savePermissions(
  updates: readonly PermissionUpdate[],
  place: SavePlace,
): Promise<readonly string[]> {
  const saved = last.then(async () => {
    const problems: string[] = [];
    for (const update of updates) {
      try {
        const problem = await saveOne(update, place);
        if (problem !== undefined) problems.push(problem);
      } catch (error) {
        problems.push(`not saved: ${(error as Error).message}`);
      }
    }
    return [...new Set(problems)];
  });
  last = saved;
  return saved;
}

async function saveOne(update: PermissionUpdate, place: SavePlace): Promise<string | undefined> {
  const source = sourceOf[update.destination];
  if (source === undefined) return undefined;
  if (!place.sources.includes(source)) {
    return `not saved: the ${source} settings do not count in this session`;
  }
  if (update.type === 'setMode' && update.mode === 'bypassPermissions') {
    return 'not saved: bypassPermissions is never kept in a file';
  }
  const file = settingsFiles(place)[source];
  const stray = leadsElsewhere(file, source === 'user' ? place.home : place.cwd);
  if (stray !== undefined) return `not saved: ${stray}`;
  const before = readSettings(file);
  if (before === undefined) return `not saved: ${file} is no JSON object: correct or remove it`;
  // A file of our own making changes what was pinned: the trust goes with it.
  const wasTrusted = source !== 'user' && trustOf(place.cwd, place.home) === 'trusted';
  const permissions = changed((before.permissions ?? {}) as Json, update);
  makeFolder(dirname(file), source === 'user' ? 0o700 : 0o755);
  const { default: write } = await import('write-file-atomic');
  const mode = lstatSync(file, { throwIfNoEntry: false })?.mode ?? 0o600;
  const text = `${JSON.stringify({ ...before, permissions }, null, 2)}\n`;
  await write(file, text, { mode: mode & 0o777 });
  if (wasTrusted) await trustFolder(place.cwd, place.home);
  return undefined;
}

/** A link in a stranger's folder would let us write another file than the one that was meant. */
function leadsElsewhere(file: string, root: string): string | undefined {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) return `${file} is a link`;
  const folder = dirname(file);
  if (!lstatSync(folder, { throwIfNoEntry: false })) return undefined;
  const meant = folder === root ? realpathSync(root) : join(realpathSync(root), '.claude');
  return realpathSync(folder) === meant ? undefined : `${folder} leads to another folder`;
}

function readSettings(file: string): Json | undefined {
  if (!lstatSync(file, { throwIfNoEntry: false })) return {};
  try {
    const json: unknown = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
    const isObject = json !== null && typeof json === 'object' && !Array.isArray(json);
    return isObject ? (json as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** *The settings were checked when the session began: what is no list now was broken since.* */
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
const union = (all: readonly string[], more: readonly string[]) => [...new Set([...all, ...more])];

function changed(permissions: Json, update: PermissionUpdate): Json {
  switch (update.type) {
    case 'setMode':
      return { ...permissions, defaultMode: update.mode };
    case 'addDirectories':
    case 'removeDirectories': {
      const before = texts(permissions.additionalDirectories);
      const after =
        update.type === 'addDirectories'
          ? union(before, update.directories)
          : before.filter((one) => !update.directories.includes(one));
      return { ...permissions, additionalDirectories: after };
    }
    case 'addRules':
    case 'replaceRules':
    case 'removeRules': {
      const before = texts(permissions[update.behavior]);
      const rules = update.rules.map(ruleText);
      const after = {
        addRules: union(before, rules),
        replaceRules: rules,
        removeRules: before.filter((one) => !rules.includes(one)),
      }[update.type];
      return { ...permissions, [update.behavior]: after };
    }
  }
}
