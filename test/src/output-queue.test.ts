import { expect, it } from 'vitest';
import { OutputQueue, progressKey } from '../../src/output-queue.ts';
import type { SDKMessage } from '../../src/wire.ts';

const progress = (tool_use_id: string, elapsed_time_seconds: number): SDKMessage => ({
  type: 'tool_progress',
  tool_use_id,
  tool_name: 'Bash',
  parent_tool_use_id: null,
  elapsed_time_seconds,
  gist: '',
  uuid: `u${elapsed_time_seconds}`,
  session_id: 's',
});

it('progress does not pile up for a host that does not read; its newest is kept', async () => {
  const queue = new OutputQueue<SDKMessage>(progressKey);
  for (let second = 1; second <= 1_000; second += 1) {
    queue.push(progress('a', second));
    queue.push(progress('b', second));
  }
  expect((await queue.next()).value).toEqual(progress('a', 1_000));
  queue.push(progress('a', 1_001));
  queue.end();
  const rest: SDKMessage[] = [];
  for await (const message of queue) rest.push(message);
  expect(rest).toEqual([progress('b', 1_000), progress('a', 1_001)]);
});
