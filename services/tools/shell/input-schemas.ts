/**
 * The inputs of the shell tools as JSON schema, as `inputs.ts` says them (a test compares the two):
 * so that starting up costs no zod.
 */
import type { InputSchema } from '../tool.ts';

export const bashSchema: InputSchema = {
  type: 'object',
  properties: {
    command: { type: 'string', minLength: 1 },
    timeout: {
      type: 'number',
      exclusiveMinimum: 0,
      description: 'Milliseconds, at most 600000',
    },
    description: { type: 'string', description: 'What it does, in 5 to 10 words' },
    run_in_background: { type: 'boolean', description: 'Start it and go on' },
  },
  required: ['command'],
  additionalProperties: false,
};

const shellId = { type: 'string', description: 'The shell, as Bash has named it' };

export const bashOutputSchema: InputSchema = {
  type: 'object',
  properties: {
    bash_id: shellId,
    filter: { type: 'string', description: 'Regular expression: only lines that match' },
  },
  required: ['bash_id'],
  additionalProperties: false,
};

export const killShellSchema: InputSchema = {
  type: 'object',
  properties: { shell_id: shellId },
  required: ['shell_id'],
  additionalProperties: false,
};
