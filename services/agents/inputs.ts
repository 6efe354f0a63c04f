import { z } from 'zod';

const words = z.string().trim().min(1);
/** A longer task description belongs in a file. */
const PROMPT_CHARS_MAX = 200_000;
/** Longer than this nobody waits in one call: it can be asked again. */
const WAIT_MS_MAX = 600_000;

export const taskInput = z.strictObject({
  description: words.max(200).describe('The task in 3 to 5 words'),
  prompt: words
    .max(PROMPT_CHARS_MAX)
    .describe('The whole task: the agent knows nothing of this conversation'),
  subagent_type: z.string().optional().describe('Name of the agent; default general-purpose'),
  run_in_background: z
    .boolean()
    .optional()
    .describe('Go on without waiting; the answer comes later'),
});

export const taskOutputInput = z.strictObject({
  task_id: words,
  block: z.boolean().optional().describe('Wait for the end; default true'),
  timeout: z.int().min(0).max(WAIT_MS_MAX).optional().describe('Milliseconds; default 30000'),
});

export const taskStopInput = z.strictObject({ task_id: words });
