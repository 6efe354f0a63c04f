/**
 * A message that the model reads in another version (its image was refused) has one name for hosts:
 * going back to it, and dropping what stands before it, works in this process and in the next.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Prompt } from '../../../src/config.ts';
import type { QueryEngine } from '../../../src/query-engine.ts';
import { httpError, say } from '../../../src/testing/index.ts';
import { conversationOf, linesOf, openPlace, type Ran } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const uuid = '11111111-1111-4111-8111-111111111111';
const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
} as const;
const look: Prompt = [{ type: 'text', text: 'look' }, image];
const refused = httpError(
  400,
  'invalid_request_error',
  'messages.0.content.1.image.source.base64.data: Could not process image',
);

/** Its image is refused and left out; then something is said that is to be forgotten. */
const withVersion = (then: (engine: QueryEngine) => Promise<unknown>): Promise<Ran> =>
  place.run({
    script: { replies: [say('ready'), refused, say('FIRST'), say('SECOND')] },
    drive: async function* (engine) {
      yield* engine.submitMessage('hello');
      yield* engine.submitMessage(look, { uuid });
      yield* engine.submitMessage('DROP-ME');
      await then(engine);
    },
  });
const goOn = (ran: Ran): Promise<Ran> =>
  place.run({
    script: { replies: [say('more')] },
    prompts: ['go on'],
    options: { resume: ran.sessionId },
  });

it('hosts hear one name of it', async () => {
  await withVersion(async (engine) => {
    expect(engine.messages.map((message) => message.uuid)).toContain(uuid);
    expect(JSON.stringify(engine.messages)).not.toContain('iVBORw0KGgo');
  });
});

it.each([
  ['its name', uuid],
  ['the name of a version', `${uuid}~c8bb7ceb4852`],
])(
  'back to it by %s: what came after it does not come back with the next process',
  async (_, name) => {
    const ran = await withVersion(async (engine) => {
      await engine.rewind(name);
      expect(engine.messages.at(-1)?.uuid).toBe(uuid);
    });
    const [rewind] = linesOf(place.home).filter(({ type }) => type === 'rewind');
    expect(rewind?.to).toBe(uuid);
    const again = await goOn(ran);
    const talk = conversationOf(again.requests[0]).join('\n');
    expect(talk).toContain('look');
    expect(talk).not.toMatch(/FIRST|DROP-ME|SECOND/);
    expect(again.lines.join('\n')).not.toContain('damaged');
  },
);

it('a file in which an older version has written the name of a version is read so, too', async () => {
  const ran = await withVersion(async (engine) => engine.rewind(uuid));
  const { appendFileSync, readdirSync } = await import('node:fs');
  const file = readdirSync(place.home, { recursive: true }).find((one) =>
    String(one).endsWith('.jsonl'),
  );
  const line = JSON.stringify({ type: 'rewind', to: `${uuid}~c8bb7ceb4852` });
  appendFileSync(`${place.home}/${String(file)}`, `${line}\n`);
  const talk = conversationOf((await goOn(ran)).requests[0]).join('\n');
  expect(talk).toContain('look');
  expect(talk).not.toContain('FIRST');
});

it('resumeSessionAt: by any of its names', async () => {
  const ran = await withVersion(async () => {});
  const again = await place.run({
    script: { replies: [say('more')] },
    prompts: ['go on'],
    options: { resume: ran.sessionId, resumeSessionAt: `${uuid}~c8bb7ceb4852` },
  });
  expect(conversationOf(again.requests[0]).join('\n')).not.toContain('FIRST');
});

it('a snip before it drops what stands before it', async () => {
  const ran = await withVersion(async (engine) => engine.snip(uuid));
  const talk = conversationOf((await goOn(ran)).requests[0]).join('\n');
  expect(talk).not.toContain('ready');
  expect(talk).toContain('look');
  expect(talk).toContain('DROP-ME');
});
