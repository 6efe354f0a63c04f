/**
 * Settings files: JSON, read fresh for each engine, merged user < project < local < flags. A broken
 * file fails closed: an engine with fewer rules than its owner wrote down is never made.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UsageError } from './usage-error.ts';

export type SettingSource = 'user' | 'project' | 'local';

/** The keys that are read. Others are left to the tools that share the file. */
export interface Settings {
  readonly model?: string;
  readonly smallModel?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly permissions?: {
    readonly allow?: readonly string[];
    readonly deny?: readonly string[];
    readonly ask?: readonly string[];
    readonly defaultMode?: string;
    readonly additionalDirectories?: readonly string[];
  };
  /** Read by the hook service, which names what is wrong in it. */
  readonly hooks?: unknown;
  readonly autoCompactEnabled?: boolean;
  readonly autoCompactWindow?: number;
  readonly historySnip?: { readonly maxMessages: number };
  readonly reactiveCompactEnabled?: boolean;
  readonly contextCollapse?: boolean;
  readonly emitToolUseSummaries?: boolean;
  readonly tokenBudget?: number;
  readonly maxDurationMs?: number;
  readonly maxOutputTokens?: number;
}

export interface LoadedSettings {
  readonly source: SettingSource | 'flag';
  readonly file: string;
  readonly settings: Settings;
}

/** More than this is no settings file. */
const FILE_BYTES_MAX = 4 << 20;

/**
 * Reads what the host names, in the order in which it counts (the last wins).
 * @throws UsageError naming file, place and remedy.
 */
export async function loadSettings(where: {
  readonly cwd: string;
  readonly home: string;
  readonly sources: readonly SettingSource[];
  readonly flag?: string | Readonly<Record<string, unknown>>;
}): Promise<readonly LoadedSettings[]> {
  const files: Record<SettingSource, string> = {
    user: join(where.home, 'settings.json'),
    project: join(where.cwd, '.claude', 'settings.json'),
    local: join(where.cwd, '.claude', 'settings.local.json'),
  };
  const loaded: LoadedSettings[] = [];
  for (const source of ['user', 'project', 'local'] as const) {
    if (!where.sources.includes(source)) continue;
    const text = readIfThere(files[source]);
    if (text !== undefined) loaded.push(await checked(source, files[source], text));
  }
  const { flag } = where;
  if (typeof flag === 'object')
    loaded.push(await checked('flag', '--settings', JSON.stringify(flag)));
  if (typeof flag === 'string' && flag.trim() !== '') {
    const isText = flag.trimStart().startsWith('{');
    const file = isText ? '--settings' : resolve(where.cwd, flag);
    const text = isText ? flag : readIfThere(file);
    if (text === undefined) throw new UsageError(`--settings: ${file} does not exist`);
    loaded.push(await checked('flag', file, text));
  }
  return loaded;
}

function readIfThere(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.length <= FILE_BYTES_MAX) return text;
    throw new UsageError(`${file}: larger than ${FILE_BYTES_MAX} bytes, this is no settings file`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`${file}: cannot be read (${code}): make it readable or remove it`);
  }
}

async function checked(
  source: LoadedSettings['source'],
  file: string,
  text: string,
): Promise<LoadedSettings> {
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`${file}${placeOf(error, text)}: not JSON (${(error as Error).message})`);
  }
  const { settingsSchema } = await import('./settings-schema.ts');
  const parsed = settingsSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path.join('.') || '(top)';
    throw new UsageError(`${file}: ${path}: ${issue?.message ?? 'wrong'}: correct or remove it`);
  }
  return { source, file, settings: parsed.data as Settings };
}

/** `:line:column` from a parse error, as far as this Node says where. */
function placeOf(error: unknown, text: string): string {
  const position = /position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return `:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The last file that says something about a key wins. */
export const merged = (loaded: readonly LoadedSettings[]): Settings =>
  Object.assign({}, ...loaded.map(({ settings }) => settings)) as Settings;
