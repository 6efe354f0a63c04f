/** What the shell tools take. Heavy (zod): for the implementations and the generator only. */
import { z } from 'zod';

export const bashInput = z.strictObject({
  command: z.string().min(1),
  timeout: z.number().positive().optional().describe('Milliseconds, at most 600000'),
  description: z.string().optional().describe('What it does, in 5 to 10 words'),
  run_in_background: z.boolean().optional().describe('Start it and go on'),
});
export const bashOutputInput = z.strictObject({
  bash_id: z.string().describe('The shell, as Bash has named it'),
  filter: z.string().optional().describe('Regular expression: only lines that match'),
});
export const killShellInput = z.strictObject({
  shell_id: z.string().describe('The shell, as Bash has named it'),
});
