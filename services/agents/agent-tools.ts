/** Which of its caller's tools an agent gets. */
import type { Tool } from '../tools/tool.ts';
import type { AgentDefinition } from './agent-definition.ts';

/**
 * The session itself is depth 0. An agent may delegate once more: two levels split any task that
 * one model can still oversee, and a tree of agents cannot grow.
 */
export const AGENT_DEPTH_MAX = 2;

/** They start or watch other agents. */
const delegating: readonly string[] = ['Task', 'TaskOutput', 'TaskStop'];
/** They speak for the whole turn, or with the person whom the session belongs to. */
const ofTheSession: readonly string[] = ['StructuredOutput'];

/**
 * Never more than the caller has.
 * @param depth of the agent, from 1.
 */
export function toolsOfAgent(
  callers: readonly Tool[],
  { tools, disallowedTools = [] }: Pick<AgentDefinition, 'tools' | 'disallowedTools'>,
  depth: number,
): readonly Tool[] {
  return callers.filter(
    ({ name }) =>
      !ofTheSession.includes(name) &&
      !(depth >= AGENT_DEPTH_MAX && delegating.includes(name)) &&
      (tools === undefined || tools.some((wanted) => isMeant(wanted, name))) &&
      !disallowedTools.some((unwanted) => isMeant(unwanted, name)),
  );
}

/** `Bash(git *)` means Bash here: what of it may run is for the permission rules. */
function isMeant(wanted: string, name: string): boolean {
  const [tool = ''] = wanted.trim().split('(');
  if (tool === '*' || tool === name) return true;
  if (tool === 'Agent') return name === 'Task';
  return tool.startsWith('mcp__') && name.startsWith(`${tool.replace(/__\*$/, '')}__`);
}
