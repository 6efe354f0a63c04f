/** `--mcp-config`: servers of tools, as JSON or as a file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isRecord } from '../../services/is-record.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Merges all `--mcp-config` values; a later one wins. `{"mcpServers": {…}}` and the bare map are
 * both understood, as other programs write both.
 * @throws UsageError that names the file or the fault of the JSON.
 */
export async function readMcpConfig(
  values: readonly string[],
  cwd: string,
): Promise<Readonly<Record<string, unknown>>> {
  const servers: Record<string, unknown> = {};
  for (const value of values) {
    const isJson = value.trimStart().startsWith('{');
    const text = isJson ? value : await readConfigFile(path.resolve(cwd, value));
    const where = isJson ? 'the JSON' : value;
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      throw new UsageError(`--mcp-config: ${where} is no JSON (${(error as Error).message})`);
    }
    const found = isRecord(parsed) && isRecord(parsed.mcpServers) ? parsed.mcpServers : parsed;
    if (!isRecord(found))
      throw new UsageError(`--mcp-config: ${where} holds no "mcpServers" object`);
    Object.assign(servers, found);
  }
  return servers;
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new UsageError(`--mcp-config: ${file} cannot be read (${code}): check the path`);
  }
}
