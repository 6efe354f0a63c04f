/** The host wants a shape: prose, then a wrong value, are no answers yet. */
import { expect, it } from 'vitest';
import { callTool, say } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

const schema = {
  type: 'object',
  required: ['n'],
  properties: { n: { type: 'number' } },
};

it('a nudge for prose, the validator’s words for a wrong value', async () => {
  const told = await tell({
    script: {
      replies: [
        say('It is four.'),
        callTool('StructuredOutput', { n: 'four' }),
        callTool('StructuredOutput', { n: 4 }),
        say('never asked for'),
      ],
    },
    options: { outputFormat: { type: 'json_schema', schema } },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model says "It is four."',
    'nudge "Give the answer by calling the StructuredOutput tool."',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":4}',
    'result "Accepted. The answer is complete."',
    'end completed "{\\"n\\":4}"',
  ]);
  expect(told.last).toMatchObject({ subtype: 'success', structured_output: { n: 4 } });
});
