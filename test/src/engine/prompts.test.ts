/** From what a host submits to what the model is asked: files, commands, repeats, the first words. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';
import { heard, type Place, tell } from '../../tools/story.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const prepare = ({ cwd, home }: Place) => {
  mkdirSync(join(cwd, 'src'));
  writeFileSync(join(cwd, 'src/a.ts'), 'const a = 1;\n');
  writeFileSync(join(cwd, 'pixel.png'), png);
  writeFileSync(join(cwd, '.env'), 'KEY=private');
  writeFileSync(join(home, 'key.pem'), 'private');
};

it('files that a prompt mentions come along, pictures as pictures', async () => {
  const told = await tell({
    prepare,
    prompts: ['look at @src/a.ts and @pixel.png, not at me@example.org or @nothing'],
    script: { replies: [say('seen')] },
  });
  const [request] = told.requests;
  expect(request && heard(request)[0]).toMatch(
    /^user: look at .* \+ Contents of src\/a\.ts: \+ +1\tconst a = 1;.* \+ Contents of pixel\.png: \+ .*\[image\]/s,
  );
  expect(JSON.stringify(request?.body.messages)).not.toContain('Contents of nothing');
});

it('what may not be read unasked does not come along', async () => {
  const told = await tell({
    prepare,
    prompts: ['look at @.env and @../home/key.pem and @~/key.pem'],
    script: { replies: [say('no')] },
    options: { permissionMode: 'default', disallowedTools: ['Read(.env)'] },
  });
  expect(JSON.stringify(told.requests[0]?.body)).not.toContain('private');
});

it('a prompt that is sent again is shown again, and not asked again', async () => {
  const uuid = '00000000-0000-4000-8000-000000000001';
  const again: SDKMessage[] = [];
  const told = await tell({
    script: { replies: [say('once'), say('of another prompt')] },
    begin: async (engine) => {
      for (let n = 0; n < 2; n += 1) {
        for await (const message of engine.submitMessage('paint it', { uuid })) again.push(message);
      }
    },
    prompts: ['another'],
    except: ['usage', 'meter', 'view', 'stands'], // turns of its own, unseen by the harness
  });
  const results = again.filter((message) => message.type === 'result');
  expect(results.map((result) => [result.user_message_uuids, result.num_turns])).toEqual([
    [[uuid], 1],
    [[], 0],
  ]);
  expect(again.filter((m) => m.type === 'user' && m.isReplay && m.uuid === uuid)).toHaveLength(1);
  expect(told.requests).toHaveLength(2);
  expect(JSON.stringify(told.requests[1]?.body.messages).match(/paint it/g)).toHaveLength(1);
});

it('the first word to the host says what there is', async () => {
  const told = await tell({ prepare, script: { replies: [say('hello')] } });
  expect(told.messages[0]).toMatchObject({
    subtype: 'init',
    cwd: told.cwd,
    model: 'claude-sonnet-4-5',
    tools: expect.arrayContaining(['Read', 'Bash', 'Task', 'WebFetch']),
    mcp_servers: [],
    permissionMode: 'bypassPermissions',
    slash_commands: expect.arrayContaining(['compact']),
    agents: ['general-purpose', 'explore'],
    skills: [],
    apiKeySource: 'ANTHROPIC_API_KEY',
  });
});

it('the system prompt is ours, then what is appended; the surroundings ride in the first message', async () => {
  const told = await tell({
    prompts: ['one', 'two'],
    script: { replies: [say('1'), say('2')] },
    options: { appendSystemPrompt: 'Appended-9.' },
    prepare: ({ cwd }) => {
      execFileSync('git', ['init', '-q', '-b', 'trunk'], { cwd });
    },
  });
  const [first, second] = told.requests.map(({ body }) => body);
  const system = first?.system as { text: string }[];
  expect(system[0]?.text).toMatch(/^You are a careful software engineer/);
  expect(system[1]?.text).toBe('Appended-9.');
  expect(system[2]?.text).toMatch(/^Git when the session began: branch trunk/);
  expect(second?.system).toEqual(
    expect.arrayContaining([expect.objectContaining({ text: 'Appended-9.' })]),
  );
  expect(JSON.stringify(first?.messages)).toContain(`Working folder: ${told.cwd}`);
  expect(JSON.stringify(first?.system)).not.toContain(told.cwd);
});
