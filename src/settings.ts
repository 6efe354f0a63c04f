/**
 * Settings files: JSON, read fresh for each engine, merged user < project < local < flag < managed.
 * A broken file fails closed: an engine with fewer rules than its owner wrote down is never made.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseRule } from '../services/permissions/rules.ts';
import { jsonErrorAt, placeAt, placeOfPath } from './json-place.ts';
import { builtInNames, judgeRuleName } from './rule-names.ts';
import { isFile, statsOf } from './stats-of.ts';
import { UsageError } from './usage-error.ts';

export type SettingSource = 'user' | 'project' | 'local';

export interface SandboxSettings {
  readonly enabled?: boolean;
  /** Where there is no sandbox, no command runs. */
  readonly required?: boolean;
  readonly network?: boolean;
  /** More folders that commands may write to. */
  readonly writable?: readonly string[];
}

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
    readonly disableBypassPermissionsMode?: 'disable';
  };
  readonly sandbox?: SandboxSettings;
  /** Read by the hook service, which names what is wrong in it. */
  readonly hooks?: unknown;
  readonly autoCompactEnabled?: boolean;
  readonly autoCompactWindow?: number;
  readonly historySnip?: { readonly maxMessages: number };
  readonly reactiveCompactEnabled?: boolean;
  readonly cachedMicrocompact?: boolean;
  readonly contextCollapse?: boolean;
  readonly emitToolUseSummaries?: boolean;
  readonly tokenBudget?: number;
  readonly maxDurationMs?: number;
  readonly maxOutputTokens?: number;
}

export interface LoadedSettings {
  readonly source: SettingSource | 'flag' | 'managed';
  readonly file: string;
  readonly settings: Settings;
  /** What works, and may not be what was meant; for people. */
  readonly warnings: readonly string[];
}

/** Which settings count. */
export interface SettingsPlace {
  readonly cwd: string;
  /** `$ESCAPEMENT_HOME`. */
  readonly home: string;
  readonly sources: readonly SettingSource[];
  /**
   * Of these only what forbids counts (deny and ask rules): the files of a folder that nobody has
   * said to trust. They may make an engine stricter, never freer.
   */
  readonly guardsOnly?: readonly SettingSource[];
  /** Absolute. What an administrator has decided: counts before all others, always. */
  readonly managedFile?: string;
  readonly flag?: string | Readonly<Record<string, unknown>>;
  /** Names of tools that the host brings along: rules may be about them. */
  readonly hostTools?: readonly string[];
}

/** Where an administrator puts what holds for everybody on the machine. */
export const managedSettingsFile: string =
  process.platform === 'darwin'
    ? '/Library/Application Support/Escapement/managed-settings.json'
    : '/etc/escapement/managed-settings.json';

/** More than this is no settings file. */
const FILE_BYTES_MAX = 4 << 20;

/** The files that these settings come from, whether they exist or not. */
export function settingsFiles({ cwd, home }: Pick<SettingsPlace, 'cwd' | 'home'>) {
  return {
    user: join(home, 'settings.json'),
    project: join(cwd, '.claude', 'settings.json'),
    local: join(cwd, '.claude', 'settings.local.json'),
  } satisfies Record<SettingSource, string>;
}

/** All files that would be read, for whoever looks whether one of them has changed. */
export function filesOf(place: SettingsPlace): readonly string[] {
  const files = settingsFiles(place);
  const { sources, guardsOnly = [], managedFile, flag } = place;
  return [
    ...(['user', 'project', 'local'] as const)
      .filter((source) => sources.includes(source) || guardsOnly.includes(source))
      .map((source) => files[source]),
    ...(typeof flag === 'string' && namesFile(flag) ? [resolve(place.cwd, flag)] : []),
    ...(managedFile === undefined ? [] : [managedFile]),
  ];
}

const namesFile = (flag: string) => flag.trim() !== '' && !flag.trimStart().startsWith('{');

/**
 * Reads what the host names, in the order in which it counts (the last wins).
 * @throws UsageError naming file, place and remedy.
 */
export async function loadSettings(place: SettingsPlace): Promise<readonly LoadedSettings[]> {
  const files = settingsFiles(place);
  const { sources, guardsOnly = [], managedFile, flag } = place;
  const loaded: LoadedSettings[] = [];
  for (const source of ['user', 'project', 'local'] as const) {
    const isWhole = sources.includes(source);
    if (!isWhole && !guardsOnly.includes(source)) continue;
    const text = readOwn(files[source]);
    if (text === undefined) continue;
    const one = await checked(place, { source, file: files[source], text });
    loaded.push(isWhole ? one : { ...one, settings: guardsOf(one.settings) });
  }
  if (typeof flag === 'object') {
    const text = JSON.stringify(flag);
    loaded.push(await checked(place, { source: 'flag', file: '--settings', text }));
  }
  if (typeof flag === 'string' && flag.trim() !== '') {
    const file = namesFile(flag) ? resolve(place.cwd, flag) : '--settings';
    const text = namesFile(flag) ? readIfThere(file) : flag;
    if (text === undefined) throw new UsageError(`--settings: ${file} does not exist`);
    loaded.push(await checked(place, { source: 'flag', file, text }));
  }
  const managed = managedFile === undefined ? undefined : readOwn(managedFile);
  if (managedFile !== undefined && managed !== undefined) {
    loaded.push(await checked(place, { source: 'managed', file: managedFile, text: managed }));
  }
  return loaded;
}

/** What forbids. */
function guardsOf({ permissions, sandbox }: Settings): Settings {
  const { deny, ask, disableBypassPermissionsMode } = permissions ?? {};
  const { enabled, required } = sandbox ?? {};
  return {
    permissions: {
      ...(deny && { deny }),
      ...(ask && { ask }),
      ...(disableBypassPermissionsMode && { disableBypassPermissionsMode }),
    },
    ...(enabled === true && { sandbox: { enabled, ...(required === true && { required }) } }),
  };
}

/** Of a place where only a file belongs. `--settings` may also be a pipe: `<(…)` of a shell. */
function readOwn(file: string): string | undefined {
  if (!statsOf(file) || isFile(file)) return readIfThere(file);
  throw new UsageError(`${file} is no file: remove it, or put the settings there`);
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

/** A file as it was read. */
interface SettingsText {
  readonly source: LoadedSettings['source'];
  readonly file: string;
  readonly text: string;
}

async function checked(place: SettingsPlace, given: SettingsText): Promise<LoadedSettings> {
  const { source, file } = given;
  const text = given.text.replace(/^\uFEFF/, '');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const at = jsonErrorAt(text);
    const line = at === undefined ? '' : placeAt(text, at);
    throw new UsageError(`${file}${line}: not JSON (${(error as Error).message})`);
  }
  const { settingsSchema } = await import('./settings-schema.ts');
  const parsed = settingsSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = issue?.path.join('.') || '(top)';
    const line = placeOfPath(text, issue?.path ?? []);
    throw new UsageError(
      `${file}${line}: ${path}: ${issue?.message ?? 'wrong'}: correct or remove it`,
    );
  }
  const settings = parsed.data as Settings;
  refuseUnreadableRules({ source, file, text }, settings);
  const tools = [...(await builtInNames()), ...(place.hostTools ?? [])];
  return {
    source,
    file,
    settings,
    warnings: strangeGuards({ source, file, text }, settings, tools),
  };
}

/** A guard that cannot be read is no guard, so nothing is started without it. */
function refuseUnreadableRules(
  { source, file, text }: SettingsText,
  { permissions = {} }: Settings,
): void {
  for (const kind of ['deny', 'ask', 'allow'] as const) {
    for (const rule of permissions[kind] ?? []) {
      const result = parseRule(rule, source);
      if (result.ok) continue;
      const place = placeOfPath(text, ['permissions', kind, rule]);
      throw new UsageError(
        `${file}${place}: the ${kind} rule ${JSON.stringify(rule)} cannot be read: ` +
          `${result.problem}. Correct or remove it`,
      );
    }
  }
}

/**
 * Guards whose tool nobody knows.
 * @returns those that may be about a tool of elsewhere, as sentences.
 * @throws UsageError for a typing error.
 */
function strangeGuards(
  { file, text }: SettingsText,
  { permissions = {} }: Settings,
  tools: readonly string[],
): readonly string[] {
  return (['deny', 'ask'] as const).flatMap((kind) =>
    (permissions[kind] ?? []).flatMap((rule) => {
      const judged = judgeRuleName(rule, tools);
      if (judged.is === 'known') return [];
      const line = placeOfPath(text, ['permissions', kind, rule]);
      const what = `${file}${line}: the ${kind} rule ${JSON.stringify(rule)} guards nothing`;
      if (judged.is === 'unknown') return [`${what}: no tool here is called ${judged.name}`];
      const { name, meant } = judged;
      throw new UsageError(`${what}: there is no tool "${name}", did you mean "${meant}"?`);
    }),
  );
}

/** The last file that says something about a key wins; `env` is joined name by name. */
export function merged(loaded: readonly LoadedSettings[]): Settings {
  const all = loaded.map(({ settings }) => settings);
  const env: Record<string, string> = Object.assign({}, ...all.map((one) => one.env ?? {}));
  const mode = all.findLast(({ permissions }) => permissions?.defaultMode !== undefined);
  const defaultMode = mode?.permissions?.defaultMode;
  const sandbox = strictestSandbox(loaded);
  return {
    ...(Object.assign({}, ...all) as Settings),
    env,
    permissions: defaultMode === undefined ? {} : { defaultMode },
    ...(sandbox && { sandbox }),
  };
}

/**
 * No file takes off what another has put on. What loosens (network, folders) counts only from
 * whoever owns the machine or the call, never from the folder that is worked in.
 */
function strictestSandbox(loaded: readonly LoadedSettings[]): SandboxSettings | undefined {
  const named = loaded.flatMap(({ source, settings: { sandbox } }) =>
    sandbox ? [{ source, sandbox }] : [],
  );
  if (!named.some(({ sandbox }) => sandbox.enabled || sandbox.required)) return undefined;
  const owned = named.filter(({ source }) => source !== 'project' && source !== 'local');
  return {
    enabled: true,
    required: named.some(({ sandbox }) => sandbox.required === true),
    network:
      owned.some(({ sandbox }) => sandbox.network === true) &&
      named.every(({ sandbox }) => sandbox.network !== false),
    writable: owned.flatMap(({ sandbox }) => sandbox.writable ?? []),
  };
}

/** Somebody has decided that nobody may switch all questions off. */
export const forbidsBypass = (loaded: readonly LoadedSettings[]): boolean =>
  loaded.some(({ settings }) => settings.permissions?.disableBypassPermissionsMode === 'disable');
