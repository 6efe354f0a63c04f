/** The tools that come with the engine. Cheap: what they do is loaded when they are called. */
import { isReadOnlyCommand } from '../permissions/shell/read-only.ts';

import { fileTools } from './files/index.ts';
import { shellTools } from './shell/index.ts';
import { todoWriteTool } from './todo-write.ts';
import type { Tool } from './tool.ts';

export const builtInTools = (): readonly Tool[] => [
  ...shellTools({ isReadOnlyCommand }),
  ...fileTools(),
  todoWriteTool,
];
