/** The tool executor. */
import type { QueryEvent, ToolCommand } from '../../../machines/events.ts';
import type { LogMessage } from '../../messages.ts';
import type { ExecutorDeps } from './deps.ts';
import { type DeferredCall, StreamingToolExecutor } from './streaming-tool-executor.ts';

export { amended } from './answer.ts';
export type { ExecutorDeps } from './deps.ts';
export {
  announcedDeadlineMs,
  type DeferredCall,
  StreamingToolExecutor,
} from './streaming-tool-executor.ts';

/** What an actor needs of the executor: one for each query, from its begin to its end. */
export interface ToolExecutor {
  hear(command: ToolCommand): void;
  /** Tells all tools to stop; resolves when they have, or after 2 s. Nothing is sent any more. */
  stop(): Promise<void>;
  takeContexts(): readonly LogMessage[];
  readonly deferred: readonly DeferredCall[];
}

/** @param send hears every event for the chart, in order, never after `stop` was called. */
export const createToolExecutor = (
  deps: ExecutorDeps,
  send: (event: QueryEvent) => void,
): ToolExecutor => new StreamingToolExecutor(deps, send);
