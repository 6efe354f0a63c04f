/** The built-in tools of a session. */
import type { BuiltInParts } from '../services/tools/built-in.ts';
import type { Tool } from '../services/tools/tool.ts';
import type { QueryEngineConfig } from './config.ts';
import { nearMiss } from './near-miss.ts';
import type { Options } from './option-types.ts';
import { UsageError } from './usage-error.ts';

/** The tools that are offered: those that are named, without those that are denied as a whole. */
export async function offeredTools(
  options: Options,
  parts: BuiltInParts,
): Promise<Pick<QueryEngineConfig, 'tools' | 'skillTool'>> {
  const [{ builtInTools: all }, { skillTool: opens }] = await Promise.all([
    import('../services/tools/built-in.ts'),
    import('../services/skills/index.ts'),
  ]);
  const { tools: wanted } = options;
  const names = Array.isArray(wanted) ? new Set(wanted as readonly string[]) : undefined;
  if (names?.has('Agent')) names.add('Task'); // what newer clients call it
  refuseSlips(
    options,
    all(parts).map(({ name }) => name),
  );
  const isOffered = ({ name }: Tool): boolean =>
    (names?.has(name) ?? true) && !options.disallowedTools?.includes(name);
  const tools = all(parts).filter(isOffered);
  const later = opens([]);
  const isLater = isOffered(later) && tools.every(({ name }) => name !== later.name);
  return { tools, ...(isLater ? { skillTool: later } : {}) };
}

/**
 * `--disallowedTools Raed` would guard nothing. Names that are merely unknown pass: hosts name tools
 * of other versions, and servers bring theirs later.
 */
function refuseSlips({ tools, allowedTools, disallowedTools }: Options, known: readonly string[]) {
  const named = [
    ...(Array.isArray(tools) ? (tools as readonly string[]) : []),
    ...(allowedTools ?? []),
    ...(disallowedTools ?? []),
  ];
  for (const rule of named) {
    const name = rule.replace(/\([\s\S]*$/, '').trim();
    const meant = name.startsWith('mcp__') ? undefined : nearMiss(name, [...known, 'Agent']);
    if (meant === undefined) continue;
    throw new UsageError(`there is no tool "${name}": did you mean "${meant}"?`);
  }
}
