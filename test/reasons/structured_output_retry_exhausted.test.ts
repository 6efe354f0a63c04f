/**
 * The shape is never right: five tries, then an error of its own, and never a success without a
 * value.
 */
import { expect, it } from 'vitest';
import { callTool, forever } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('a value that is wrong for ever', async () => {
  const told = await tell({
    script: { replies: forever(callTool('StructuredOutput', { n: 'four' })) },
    options: {
      outputFormat: {
        type: 'json_schema',
        schema: { type: 'object', properties: { n: { type: 'number' } } },
      },
    },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    '→ structured_output_retry',
    'status requesting',
    'model calls StructuredOutput {"n":"four"}',
    'result (error) "StructuredOutput was not run, its input is wrong: /n: must be number"',
    'end structured_output_retry_exhausted (error_max_structured_output_retries) ""',
  ]);
  expect(told.requests.length).toBe(5);
  expect(told.last).toMatchObject({ subtype: 'error_max_structured_output_retries' });
  expect(told.last.structured_output).toBeUndefined();
});
