/**
 * No answer of the API at all: after the tries that make sense the turn ends, and the session
 * lives.
 */
import { expect, it } from 'vitest';
import { emptyBody, say } from '../../src/testing/index.ts';
import { heard, tell } from '../tools/story.ts';

it('streams without a single event', async () => {
  const told = await tell({
    script: { replies: [emptyBody({ times: 3 }), say('Back again.')] },
    limits: { retriesMax: 2 },
    prompts: ['hello?', 'hello?'],
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'retry 1/2 - the stream ended before the answer did',
    'status requesting',
    'retry 2/2 - the stream ended before the answer did',
    'status requesting',
    'error transport: the stream ended before the answer did',
    'end model_error (error_during_execution) ""',
    'init',
    'status requesting',
    'model says "Back again."',
    'end completed "Back again."',
  ]);
  expect(told.requests.map(heard).at(-1)).toEqual(['user: hello? + hello?']);
});
