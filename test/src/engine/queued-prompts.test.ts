/** Prompts that come beside a turn pass the same hooks as those that begin one. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { heard, lineOf, tell } from '../../tools/story.ts';
import { openPlace } from '../resume/kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const promptHook = (command: string) => ({
  settings: { hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command }] }] } },
});
const noSecrets = promptHook("if grep -q hunter2; then echo 'it has a secret' >&2; exit 2; fi");
const work = callTool('Bash', { command: 'sleep 0.3; echo worked' });
const isCall = (line: string) => line.startsWith('model calls');

it('one that a hook stops is read by no model, told to the host and named by the result', async () => {
  let left: unknown;
  const told = await tell({
    script: { replies: [work, say('done')] },
    options: noSecrets,
    during: (said, engine) => {
      if (!isCall(lineOf(said))) return;
      engine.enqueue('my password is hunter2', { uuid: 'secret' });
      engine.enqueue('be quick', { uuid: 'harmless' });
    },
    after: (engine) => {
      left = engine.takeQueued();
    },
  });
  expect(JSON.stringify(told.requests.map(({ body }) => body))).not.toContain('hunter2');
  expect(told.requests.map(heard).at(-1)?.join('\n')).toContain('be quick');
  expect(told.lines).toContain('warning A hook stopped this prompt: it has a secret');
  expect(told.last.user_message_uuids.slice(1)).toEqual(['secret', 'harmless']);
  expect(left).toEqual([]);
});

it('what a hook adds is read with it', async () => {
  const json = JSON.stringify({
    hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'branch: main' },
  });
  const told = await tell({
    script: { replies: [work, say('done')] },
    options: promptHook(`if grep -q beside; then echo '${json}'; fi`),
    during: (said, engine) => {
      if (isCall(lineOf(said))) engine.enqueue('said beside');
    },
  });
  expect(told.requests.map(heard).at(-1)?.join('\n')).toContain('branch: main');
});

it('while a hook thinks for too long the prompt waits, and is not lost', async () => {
  const left: unknown[] = [];
  await tell({
    script: { replies: [work, say('done')] },
    limits: { attachMs: 200 },
    options: promptHook('if grep -q beside; then sleep 2; fi'),
    during: (said, engine) => {
      if (isCall(lineOf(said))) engine.enqueue('said beside');
    },
    after: (engine) => {
      left.push(...engine.takeQueued().map(({ prompt }) => prompt));
    },
  });
  expect(left).toEqual([[{ type: 'text', text: 'said beside' }]]);
});

it('one that a dead process has left is looked at by the next', async () => {
  const first = await place.run({
    script: { replies: [work, say('done')] },
    during: (said, engine) => {
      if (!isCall(lineOf(said))) return;
      engine.enqueue('my password is hunter2', { uuid: 'secret', priority: 'later' }); // no turn takes it
    },
  });
  const second = await place.run({
    script: { replies: [say('on it')] },
    prompts: ['go on'],
    options: { ...noSecrets, resume: first.sessionId },
  });
  expect(JSON.stringify(second.requests.map(({ body }) => body))).not.toContain('hunter2');
  expect(second.lines).toContain('warning A hook stopped this prompt: it has a secret');
  expect(second.last.user_message_uuids).toContain('secret');
});
