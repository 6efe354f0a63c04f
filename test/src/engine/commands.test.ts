/** Slash commands have one home: whoever names, lists or calls them sees the same. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Command, MCPServerConnection } from '../../../src/config.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { heard, lineOf, tell } from '../../tools/story.ts';
import { openPlace } from '../resume/kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const becoming = (name: string, text: string): Command => ({
  ...{ type: 'prompt', name, description: `of ${text}`, expand: async () => text },
});
const server = (...commands: readonly Command[]): MCPServerConnection => ({
  ...{ name: 's', status: 'connected', tools: [], commands },
  close: async () => {},
});
const work = callTool('Bash', { command: 'sleep 0.3; echo worked' });
const isCall = (line: string) => line.startsWith('model calls');

it('host, servers and engine: one list, and of the same name the first', async () => {
  let listed: readonly Command[] = [];
  const told = await tell({
    script: { replies: [say('ok')] },
    prompts: ['/fix'],
    config: () => ({
      commands: [becoming('fix', 'the host')],
      mcpClients: [server(becoming('fix', 'the server'), becoming('mcp__s__fix', 'the server'))],
    }),
    begin: (engine) => {
      listed = engine.commands;
    },
  });
  const names = listed.map(({ name }) => name);
  expect(names).toEqual(['fix', 'mcp__s__fix', 'compact']);
  const init = told.messages.find(({ type }) => type === 'system');
  expect(init).toMatchObject({ subtype: 'init', slash_commands: names });
  expect(told.requests.map(heard)).toEqual([['user: the host']]);
});

it('a name may have a dot in it, as the name of its file has', async () => {
  const told = await tell({
    script: { replies: [say('ok')] },
    prompts: ['/v1.2 now'],
    config: () => ({ commands: [becoming('v1.2', 'release it')] }),
  });
  expect(told.requests.map(heard)).toEqual([['user: release it']]);
});

it("beside a turn a server's command is no word of that turn: it gets its own", async () => {
  let isSent = false;
  const ran = await place.run({
    script: { replies: [work, say('done'), say('fixed')] },
    options: { mcpClients: [server(becoming('mcp__s__fix', 'EXPANDED'))] },
    during: (said, engine) => {
      if (isSent || !isCall(lineOf(said))) return;
      isSent = true;
      engine.enqueue('/mcp__s__fix', { uuid: 'command' });
      engine.enqueue('be quick', { uuid: 'words' });
    },
    drive: async function* (engine) {
      yield* engine.submitMessage('go', { uuid: 'first' });
      for (const { prompt, uuid } of engine.takeQueued()) {
        yield* engine.submitMessage(prompt, { uuid });
      }
    },
  });
  const requests = ran.requests.map(heard);
  expect(requests[1]?.at(-1)).toContain('be quick');
  expect(requests[2]?.at(-1)).toBe('user: EXPANDED');
  expect(JSON.stringify(requests)).not.toContain('/mcp__s__fix');
  expect(ran.results.map((result) => result.user_message_uuids)).toEqual([
    ['first', 'words'],
    ['command'],
  ]);
});

it('one that a dead process has left waits for its own turn', async () => {
  const first = await place.run({
    script: { replies: [work, say('done')] },
    during: (said, engine) => {
      if (!isCall(lineOf(said))) return;
      engine.enqueue('/compact', { uuid: 'command', priority: 'later' }); // no turn takes it
    },
  });
  const second = await place.run({
    script: { replies: [say('on it')] },
    prompts: ['go on'],
    options: { resume: first.sessionId },
    finally: (engine) => {
      expect(engine.takeQueued().map(({ uuid }) => uuid)).toEqual(['command']);
    },
  });
  expect(JSON.stringify(second.requests.map(({ body }) => body))).not.toContain('/compact');
  expect(second.last.user_message_uuids).not.toContain('command');
});

it('what no turn has taken is handed back as it was sent', async () => {
  let isSent = false;
  let left: unknown;
  await tell({
    script: { replies: [work, say('done')] },
    during: (said, engine) => {
      if (isSent || !isCall(lineOf(said))) return;
      isSent = true;
      engine.enqueue('by itself', { uuid: 'a', isMeta: true, priority: 'later' });
      engine.enqueue('/compact', { uuid: 'b' });
    },
    after: (engine) => {
      left = engine.takeQueued().map(({ uuid, isMeta, priority }) => [uuid, isMeta, priority]);
    },
  });
  expect(left).toEqual([
    ['b', false, 'next'],
    ['a', true, 'later'],
  ]);
});
