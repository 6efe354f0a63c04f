/** What a killed process has left half done, and what the next one makes of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callTool, httpError, message, say, text, toolUse } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { hostTool, pixel } from '../../tools/host-tool.ts';
import { openPlace } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const partial = { includePartialMessages: true };
const uuidOf = (said: SDKMessage) => (said.type === 'stream_event' ? said.message_uuid : undefined);
const takenBack = (messages: readonly SDKMessage[]) =>
  messages.flatMap((said) => (said.type === 'tombstone' ? [said.message.uuid] : []));

it('deltas whose block a killed process has not ended are taken back, once', async () => {
  let home = '';
  let half: string | undefined;
  const first = await place.run({
    script: {
      replies: [
        message([text('looking'), toolUse('Bash', { command: 'true' })]),
        message([text('the answer')], { fault: { kind: 'stall', after: { block: 0, delta: 0 } } }),
      ],
    },
    options: partial,
    during: (said, engine) => {
      const isDelta = said.type === 'stream_event' && JSON.stringify(said).includes('text_delta');
      if (!isDelta || JSON.stringify(said).includes('looking')) return;
      home = place.crash();
      half = uuidOf(said);
      engine.interrupt();
    },
  });
  const resume = { resume: first.sessionId, ...partial };
  const script = { replies: [message([text('again')])] };
  const again = await place.run({ home, script, options: resume, prompts: ['go on'] });
  expect(half).toBeDefined();
  expect(takenBack(again.messages)).toEqual([half]);
  const third = await place.run({ home, script, options: resume, prompts: ['and?'] });
  expect(takenBack(third.messages)).toEqual([]);
});

it('whole blocks stand, those of agents too', async () => {
  const first = await place.run({
    script: {
      replies: [
        callTool('Task', { description: 'd', prompt: 'look', subagent_type: 'general-purpose' }),
        { ...say('found'), when: { systemIncludes: 'Your caller gets' } },
        say('done'),
      ],
    },
    options: partial,
  });
  expect(first.messages.some((said) => said.type === 'stream_event')).toBe(true);
  const again = await place.run({
    script: { replies: [say('more')] },
    options: { resume: first.sessionId },
  });
  expect(takenBack(again.messages)).toEqual([]);
});

it('an image that was refused is not sent again by the next process', async () => {
  const first = await place.run({
    script: {
      replies: [
        httpError(400, 'invalid_request_error', 'Could not process image'),
        say('I cannot see it.'),
      ],
    },
    prompts: [[{ type: 'text', text: 'what is this?' }, pixel]],
  });
  const again = await place.run({
    script: { replies: [say('more')] },
    options: { resume: first.sessionId },
  });
  const [request] = again.requests;
  expect(JSON.stringify(request?.body)).not.toContain('base64');
  expect(JSON.stringify(request?.body)).toContain('[image left out: the API refused it]');
});

it('a command that comes first does not use up the hooks of the begin', async () => {
  const hook = { hooks: [{ type: 'command', command: 'echo from the hook; echo x >> began' }] };
  writeFileSync(join(place.cwd, 's.json'), JSON.stringify({ hooks: { SessionStart: [hook] } }));
  const ran = await place.run({
    script: { replies: [say('hello')] },
    prompts: ['/compact', 'now you'],
    options: { settings: 's.json' },
  });
  expect(JSON.stringify(ran.requests[0]?.body.messages)).toContain('from the hook');
  const [command] = ran.results;
  expect(command).toMatchObject({ terminal_reason: 'completed', num_turns: 0 });
});

it('a result beyond all bounds is on disk as far as it was kept, and is not called all of it', async () => {
  let seen = '';
  const ran = await place.run({
    script: { replies: [callTool('mcp__srv__flood', {}), say('ok')] },
    options: {
      mcpClients: [
        {
          ...{ name: 'srv', status: 'connected', close: async () => {} },
          tools: [hostTool('mcp__srv__flood', () => 'x'.repeat(10_000_100))],
        },
      ],
    },
    finally: (engine) => {
      seen = JSON.stringify(engine.messages);
    },
  });
  expect(ran.last.result).toBe('ok');
  expect(seen).toContain('As much of it as was kept is in the file');
});
