/** The API says no in a way that no other try cures: one request, its own words, its status. */
import { expect, it } from 'vitest';
import { httpError } from '../../src/testing/index.ts';
import { tell } from '../tools/story.ts';

it('a wrong key is not tried again', async () => {
  const told = await tell({
    script: { replies: [httpError(401, 'authentication_error', 'invalid x-api-key')] },
  });
  expect(told.lines).toEqual([
    'init',
    'status requesting',
    'error api: 401 authentication_error: invalid x-api-key',
    'end api_error (error_during_execution) ""',
  ]);
  expect(told.requests.length).toBe(1);
  expect(told.last).toMatchObject({ subtype: 'error_during_execution', api_error_status: 401 });
});
