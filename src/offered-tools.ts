/** The tools of a session that are there from the start: the built-in ones, and the host's own. */
import type { BuiltInParts } from '../services/tools/built-in.ts';
import type { Tool } from '../services/tools/tool.ts';
import type { QueryEngineConfig } from './config.ts';
import type { Options } from './option-types.ts';
import { judgeRuleName } from './rule-names.ts';
import { UsageError } from './usage-error.ts';

/** Built-in ones that are named, and the host's own, without those that are denied as a whole. */
export async function offeredTools(
  options: Options,
  parts: BuiltInParts,
): Promise<Pick<QueryEngineConfig, 'tools' | 'skillTool'>> {
  const [{ builtInTools: all }, { skillTool: opens }] = await Promise.all([
    import('../services/tools/built-in.ts'),
    import('../services/skills/index.ts'),
  ]);
  const { tools: wanted, customTools = [] } = options;
  const names = Array.isArray(wanted) ? new Set(wanted as readonly string[]) : undefined;
  if (names?.has('Agent')) names.add('Task'); // what newer clients call it
  refuseSlips(
    options,
    [...all(parts), ...customTools].map(({ name }) => name),
  );
  const isAllowed = ({ name }: Tool): boolean => !options.disallowedTools?.includes(name);
  const isOffered = (tool: Tool): boolean => (names?.has(tool.name) ?? true) && isAllowed(tool);
  const builtIn = all(parts).filter(isOffered);
  const tools = [...builtIn, ...customTools.filter(isAllowed)];
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
    const judged = judgeRuleName(rule, known);
    if (judged.is !== 'slip') continue;
    throw new UsageError(`there is no tool "${judged.name}": did you mean "${judged.meant}"?`);
  }
}
