/**
 * The names of tools in rules. `deny: ["bash(rm:*)"]` would guard nothing: a name that is nearly one
 * of ours is a typing error, and one that nobody knows is told.
 */
import { nearMiss } from './near-miss.ts';

/** Of Claude Code, whose settings files people share with us: we have none of them to guard. */
const namesOfOthers: readonly string[] = [
  ...['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode', 'KillBash', 'LS', 'LSP', 'MultiEdit'],
  ...['NotebookRead', 'SlashCommand', 'TaskOutput', 'TaskStop', 'TodoRead', 'WebSearch'],
];

/** Also ours, without being in the list that the model gets: Task, and what opens skills. */
const otherNamesOfOurs: readonly string[] = ['Agent', 'Skill'];

export type NameJudgement =
  | { readonly is: 'known' }
  /** A typing error. */
  | { readonly is: 'slip'; readonly name: string; readonly meant: string }
  | { readonly is: 'unknown'; readonly name: string };

/**
 * @param rule as written: `Bash(rm:*)`.
 * @param tools names of the tools that there are. Those of MCP servers come later, and pass.
 */
export function judgeRuleName(rule: string, tools: readonly string[]): NameJudgement {
  const name = rule.replace(/\([\s\S]*$/, '').trim();
  const known = [...tools, ...otherNamesOfOurs];
  const passes = name.startsWith('mcp__') || name === '*';
  if (passes || known.includes(name) || namesOfOthers.includes(name)) return { is: 'known' };
  const meant = nearMiss(name, known);
  return meant === undefined ? { is: 'unknown', name } : { is: 'slip', name, meant };
}

/** Of the tools that come with the engine. */
export async function builtInNames(): Promise<readonly string[]> {
  const { builtInTools } = await import('../services/tools/built-in.ts');
  return builtInTools().map(({ name }) => name);
}
