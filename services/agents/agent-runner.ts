/** Between the tool that delegates and the engine that can run another conversation. */
import type { ToolOutput } from '../tools/tool.ts';

export interface AgentTask {
  /** The call that delegates: names the task, and stands on every message of the agent. */
  readonly toolUseId: string;
  /** A few words for people. */
  readonly description: string;
  /** All that the agent gets to know. */
  readonly prompt: string;
  /** Name of the agent. */
  readonly agent: string;
  /** The call is answered at once, and the agent's answer comes later. */
  readonly isBackground: boolean;
  /** Ends an agent that is waited for. */
  readonly signal: AbortSignal;
  /** What the agent does now, in a few words. */
  progress(gist: string): void;
}

/** A task that was given to an agent, for whoever asks. Plain JSON. */
export interface TaskState {
  readonly taskId: string;
  readonly agent: string;
  readonly description: string;
  readonly status: 'running' | 'completed' | 'failed' | 'stopped';
  /** Its last words, bounded. Absent while it runs. */
  readonly answer?: string;
}

/** Of one session. Implemented by the engine. */
export interface AgentRunner {
  /** *Contract:* resolves, whatever happens to the agent. The output is bounded. */
  run(task: AgentTask): Promise<ToolOutput>;
  /** Tasks in the background, the finished ones whose answer was not read yet included. */
  tasks(): readonly TaskState[];
  /** Resolves when the task has ended, after `waitMs`, or when the signal is aborted. */
  wait(taskId: string, waitMs: number, signal: AbortSignal): Promise<TaskState | undefined>;
  /** @returns whether such a task was running. */
  stop(taskId: string): boolean;
}
