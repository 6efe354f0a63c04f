/** The public face `escapement/tools`: the tools that come with the engine, and what a tool is. */
export { builtInTools } from './built-in.ts';
export { createToolExecutor, type ExecutorDeps, type ToolExecutor } from './executor/index.ts';
export type {
  InputSchema,
  ParsedInput,
  Tool,
  ToolContext,
  ToolInput,
  ToolOutput,
  ToolState,
  Touches,
} from './tool.ts';
