/**
 * An image that the API refuses would wedge the session for ever: it is taken out, and the model
 * is told.
 */
import { expect, it } from 'vitest';
import { httpError, say } from '../../src/testing/index.ts';
import { pixel } from '../tools/host-tool.ts';
import { heard, tell } from '../tools/story.ts';

it('a refused image is taken out', async () => {
  const told = await tell({
    script: {
      replies: [
        httpError(400, 'invalid_request_error', 'Could not process image'),
        say('I cannot see it.'),
      ],
    },
    prompts: [[{ type: 'text', text: 'what is this?' }, pixel]],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'context_edit media_strip',
    '→ media_strip_retry',
    'status requesting',
    'model says "I cannot see it."',
    'end completed "I cannot see it."',
  ]);
  expect(told.requests.map(heard)).toEqual([
    ['user: what is this? + [image]'],
    ['user: what is this? + [image left out: the API refused it]'],
  ]);
});
