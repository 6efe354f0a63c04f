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
import { webFetch } from './web/index.ts';

export interface BuiltInParts {
  /** Whom a task can be given to, beside the agents that are always there. */
  readonly agents?: readonly AgentDefinition[];
  /** Without any there is no tool for them. */
  readonly skills?: readonly Skill[];
  /** Hosts inside of the machine or its network that WebFetch may reach. Default: none. */
  readonly insideHosts?: readonly string[];
}

export const builtInTools = ({
  agents,
  skills = [],
  insideHosts = [],
}: BuiltInParts = {}): readonly Tool[] => [
  ...shellTools({ isReadOnlyCommand }),
  ...fileTools(),
  todoWriteTool,
  webFetch({ insideHosts }),
  ...agentTools(agents),
  ...(skills.length > 0 ? [skillTool(skills)] : []),
];
