/** A session that is given up: another process may hold it, so nothing is done in its name. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { say } from '../../../src/testing/index.ts';
import { UsageError } from '../../../src/usage-error.ts';
import { type Place, tell } from '../../tools/story.ts';

const textIn = ({ home }: Pick<Place, 'home'>): string => {
  const name = readdirSync(home, { recursive: true })
    .map(String)
    .find((one) => one.endsWith('.jsonl'));
  return readFileSync(join(home, name ?? ''), 'utf8');
};
const drain = async (messages: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of messages);
};

const verbs: Record<string, (engine: QueryEngine) => unknown> = {
  submitMessage: (engine) => drain(engine.submitMessage('after the end')),
  compact: (engine) => drain(engine.compact()),
  enqueue: (engine) => engine.enqueue('after the end'),
  cancel: (engine) => engine.cancel('some-prompt'),
  snip: (engine) => engine.snip('some-prompt'),
  rewind: (engine) => engine.rewind('some-prompt'),
  reconnectMcpServer: (engine) => engine.reconnectMcpServer('some-server'),
};

it.each(Object.keys(verbs))('%s is refused, and says how to go on', async (name) => {
  await tell({
    script: { replies: [say('one')] },
    after: async (engine, place) => {
      await engine.close();
      const before = textIn(place);
      const asked = place.server.requests.length;
      const refused = (async () => verbs[name]?.(engine))();
      await expect(refused).rejects.toThrow(UsageError);
      await expect(refused).rejects.toThrow(
        `session ${engine.sessionId} is closed: go on with it in a new engine (resume)`,
      );
      expect(place.server.requests).toHaveLength(asked);
      expect(textIn(place)).toBe(before);
    },
  });
});

it('what only looks is answered still', async () => {
  await tell({
    script: { replies: [say('one')] },
    after: async (engine) => {
      await engine.close();
      expect(engine.messages).toHaveLength(2);
      expect(engine.takeQueued()).toEqual([]);
      expect(engine.interrupted).toBeUndefined();
      engine.interrupt();
      await drain(engine.finishInterrupted());
    },
  });
});
