/** The tools that come with the engine. Cheap: what they do is loaded when they are called. */
import type { AgentDefinition } from '../agents/agent-definition.ts';
import { agentTools } from '../agents/index.ts';
import { isReadOnlyCommand } from '../permissions/shell/read-only.ts';

import { skillTool } from '../skills/index.ts';
import type { Skill } from '../skills/load-skills.ts';
import { fileTools } from './files/index.ts';
import { shellTools } from './shell/index.ts';
import { todoWriteTool } from './todo-write.ts';
import type { Tool } from './tool.ts';

export interface BuiltInParts {
  /** Whom a task can be given to, beside the agents that are always there. */
  readonly agents?: readonly AgentDefinition[];
  /** Without any there is no tool for them. */
  readonly skills?: readonly Skill[];
}

export const builtInTools = ({ agents, skills = [] }: BuiltInParts = {}): readonly Tool[] => [
  ...shellTools({ isReadOnlyCommand }),
  ...fileTools(),
  todoWriteTool,
  ...agentTools(agents),
  ...(skills.length > 0 ? [skillTool(skills)] : []),
];
