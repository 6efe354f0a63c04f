/**
 * An image is refused, taken out, and refused again: the media is to blame, and the turn ends.
 */
import { expect, it } from 'vitest';
import { forever, httpError } from '../../src/testing/index.ts';
import { pixel } from '../tools/host-tool.ts';
import { tell } from '../tools/story.ts';

it('taking the image out did not help', async () => {
  const told = await tell({
    script: {
      replies: forever(httpError(400, 'invalid_request_error', 'Could not process image')),
    },
    prompts: [[{ type: 'text', text: 'what is this?' }, pixel]],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'context_edit media_strip',
    '→ media_strip_retry',
    'status requesting',
    'error bad_image: 400 invalid_request_error: Could not process image',
    'end image_error (error_during_execution) ""',
  ]);
  expect(told.requests.length).toBe(2);
});
