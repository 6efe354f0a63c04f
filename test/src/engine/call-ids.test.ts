/**
 * Some gateways begin to count their calls anew with each answer. No two calls of a session have one
 * name all the same: the ledger, and tools that make a repeated call harmless, know calls by it.
 */
import { expect, it } from 'vitest';
import { callTool, message, say, text, toolUse } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { tell } from '../../tools/story.ts';

const counting = (keys: string[]) =>
  hostTool(
    'Send',
    (_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return 'sent';
    },
    { isReadOnly: () => false, isConcurrencySafe: () => false },
  );
const send = toolUse('Send', {}, { id: 'call_0' });

it('an agent makes a call by the name of one of its caller: both are made, under two keys', async () => {
  const keys: string[] = [];
  const task = toolUse('Task', { description: 'a part', prompt: 'the part' }, { id: 'call_1' });
  const told = await tell({
    script: { replies: [message([send, task]), message([send]), say('Part done.'), say('Done.')] },
    config: ({ tools }) => ({ tools: [...tools, counting(keys)] }),
  });
  expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'Done.' });
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(2);
});

it('a call by the name of one that a summary stands for: both are made, under two keys', async () => {
  const keys: string[] = [];
  const told = await tell({
    script: {
      replies: [
        message([text(`so ${'much '.repeat(4_000)}`), send]),
        callTool('Send', {}),
        say('Done.'),
        message([send]),
        say('Done again.'),
      ],
    },
    prompts: ['first', '/compact', 'second'],
    config: () => ({ tools: [counting(keys)] }),
  });
  expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'Done again.' });
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(3);
  expect(told.lines.join('\n')).toContain('the id "call_0" of an older one');
});

it('a server that counts its calls anew in each turn: all are made, each under its own name', async () => {
  const keys: string[] = [];
  const told = await tell({
    script: {
      replies: [
        ...[
          message([send]),
          message([send]),
          message([send, toolUse('Send', {}, { id: 'call_1' })]),
        ],
        ...[say('Done.'), message([send]), say('Done again.')],
      ],
    },
    prompts: ['first', 'second'],
    options: { includePartialMessages: true },
    config: () => ({ tools: [counting(keys)] }),
  });
  expect(told.results.map(({ terminal_reason: why }) => why)).toEqual(['completed', 'completed']);
  expect(keys).toHaveLength(5);
  expect(new Set(keys).size).toBe(5);
  const called = told.history.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  );
  const answered = told.history.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
  );
  expect(answered).toEqual(called);
  const begun = told.messages.flatMap((one) => {
    if (one.type !== 'stream_event') return [];
    const { content_block: block } = one.event as { content_block?: { type: string; id: string } };
    return block?.type === 'tool_use' ? [block.id] : [];
  });
  expect(begun).toEqual(called);
});
