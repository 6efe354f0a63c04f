/**
 * Plugins: folders of somebody else with commands, agents, skills, hooks and servers of tools. The
 * host names each by itself, and so lets it act; nothing else makes a folder a plugin.
 */
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isInside, readInstruction } from '../services/memory/read-instruction.ts';
import type { HookSettings } from './config.ts';
import { UsageError } from './usage-error.ts';

export interface Plugin {
  readonly type: 'local';
  /** Absolute, or relative to the working folder. */
  readonly path: string;
  /** Its servers of tools are not read: the host connects them itself. */
  readonly skipMcpDiscovery?: boolean;
}

/** More than this lists no hooks and servers. */
const FILE_BYTES_MAX = 4 << 20;

type Json = Readonly<Record<string, unknown>>;

/** What stands in a plugin's folder, as far as it acts. */
export interface LoadedPlugin {
  readonly name: string;
  /** Absolute. Its hooks and servers find it as `CLAUDE_PLUGIN_ROOT`. */
  readonly folder: string;
  readonly hooks: readonly HookSettings[];
  /** Entries as they were written, with the file that names them. */
  readonly servers: readonly { readonly file: string; readonly entries: Json }[];
}

/** How a plugin's files name its own folder. */
export const PLUGIN_ROOT = 'CLAUDE_PLUGIN_ROOT';

/** @throws UsageError naming file and remedy: a guard that is written down is never left out. */
export async function loadPlugins(
  plugins: readonly Plugin[],
  cwd: string,
): Promise<readonly LoadedPlugin[]> {
  const loaded = await Promise.all(plugins.map((plugin) => loadPlugin(plugin, cwd)));
  const folders = new Map<string, string>();
  for (const { name, folder } of loaded) {
    const other = folders.get(name);
    // Their servers would have the same names: rules for one would mean the other.
    if (other !== undefined && other !== folder) {
      throw new UsageError(`plugins ${other} and ${folder} are both named ${name}: leave one out`);
    }
    folders.set(name, folder);
  }
  return loaded;
}

async function loadPlugin(plugin: Plugin, cwd: string): Promise<LoadedPlugin> {
  const folder = resolve(cwd, plugin.path);
  const file = join(folder, '.claude-plugin', 'plugin.json');
  const manifest = await readInstruction(file);
  if (!manifest) throw new UsageError(`plugin ${folder}: there is no .claude-plugin/plugin.json`);
  const fields = objectIn(manifest.text, file);
  const { name } = fields;
  if (typeof name !== 'string' || !/^[\w.-]{1,64}$/.test(name)) {
    throw new UsageError(`${file}: needs a "name" of letters, digits, dots and dashes`);
  }
  const place = { folder, file };
  const hooks = await partsOf(fields.hooks, 'hooks', join('hooks', 'hooks.json'), place);
  const servers = plugin.skipMcpDiscovery
    ? []
    : await partsOf(fields.mcpServers, 'mcpServers', '.mcp.json', place);
  return {
    ...{ name, folder },
    hooks: hooks.map((part) => ({
      ...{ source: 'plugin', file: part.file, hooks: part.value.hooks ?? part.value },
      env: { [PLUGIN_ROOT]: folder },
    })),
    servers: servers.map((part) => ({
      file: part.file,
      entries: objectOf(part.value.mcpServers ?? part.value, part.file),
    })),
  };
}

interface Part {
  readonly file: string;
  readonly value: Json;
}

/** The usual file, if there is one, and what the manifest names: paths, or the thing itself. */
async function partsOf(
  named: unknown,
  key: string,
  usual: string,
  { folder, file }: { readonly folder: string; readonly file: string },
): Promise<readonly Part[]> {
  const found = await partIn(join(folder, usual), 'optional');
  const given = named === undefined ? [] : Array.isArray(named) ? named : [named];
  const parts = given.map(async (one: unknown): Promise<Part | undefined> => {
    if (typeof one !== 'string') return { file, value: objectOf(one, `${file}: ${key}`) };
    const path = resolve(folder, one);
    if (!isInside(path, folder)) {
      throw new UsageError(`${file}: ${key} names ${one}, which is not in the plugin's folder`);
    }
    return path === join(folder, usual) ? undefined : partIn(path, 'needed');
  });
  return [found, ...(await Promise.all(parts))].filter((part) => part !== undefined);
}

async function partIn(file: string, need: 'optional' | 'needed'): Promise<Part | undefined> {
  let text: string;
  try {
    const { size } = await stat(file);
    if (size > FILE_BYTES_MAX) {
      throw new UsageError(`${file}: larger than ${FILE_BYTES_MAX} bytes: shorten or remove it`);
    }
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR';
    if (isAbsent && need === 'optional') return undefined;
    throw new UsageError(`${file}: cannot be read (${code}): make it readable or remove it`);
  }
  return { file, value: objectIn(text, file) };
}

function objectIn(text: string, file: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new UsageError(`${file}: not JSON (${(error as Error).message}): correct it`);
  }
  return objectOf(value, file);
}

function objectOf(value: unknown, place: string): Json {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Json;
  throw new UsageError(`${place}: holds no JSON object: correct it`);
}
