/** All numbers by hand: a token is four characters of a text, rounded up. */
import { describe, expect, test } from 'vitest';
import {
  CONTEXT_EDITING_BETA,
  editContext,
  say,
  startScriptedServer,
} from '../../../src/testing/index.ts';
import { ask, assistant, BASE, errorOf, eventsOf, user } from './client.ts';

const call = (id: string, name = 'Read') => ({ type: 'tool_use', id, name, input: {} });
const result = (id: string, tokens: number) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'word'.repeat(tokens),
});
/** Three rounds of 100 tokens each. */
const messages = [
  user('go'),
  assistant([call('a')]),
  user([result('a', 100)]),
  assistant([call('b', 'Bash')]),
  user([result('b', 100)]),
  assistant([call('c')]),
  user([result('c', 100)]),
];
const edit = (more: Record<string, unknown> = {}) => ({
  edits: [
    {
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'input_tokens', value: 200 },
      keep: { type: 'tool_uses', value: 1 },
      ...more,
    },
  ],
});
const headers = { 'anthropic-beta': CONTEXT_EDITING_BETA };
const applied = (cleared_tool_uses: number, cleared_input_tokens: number) => [
  { type: 'clear_tool_uses_20250919', cleared_tool_uses, cleared_input_tokens },
];

describe('editContext', () => {
  const body = { ...BASE, messages, context_management: edit() };

  test('leaves the oldest results out, above the trigger', () => {
    // 3 tokens are what "[cleared]" has.
    expect(editContext(body).applied).toEqual(applied(2, 2 * 97));
    const seen = JSON.stringify(editContext(body).body.messages);
    expect(seen.match(/\[cleared\]/g)).toHaveLength(2);
    expect(seen).toContain('"tool_use_id":"a"');
  });

  test.each([
    ['below the trigger', { trigger: { type: 'input_tokens', value: 400 } }],
    ['when too little would go', { clear_at_least: { type: 'input_tokens', value: 195 } }],
    ['when all is kept', { keep: { type: 'tool_uses', value: 3 } }],
  ])('leaves all of it %s', (_, more) => {
    expect(editContext({ ...body, context_management: edit(more) }).applied).toEqual([]);
  });

  test('excepts tools', () => {
    const management = edit({ exclude_tools: ['Bash'] });
    expect(editContext({ ...body, context_management: management }).applied).toEqual(
      applied(1, 97),
    );
  });

  test('is not asked for', () => {
    const plain = { ...BASE, messages };
    expect(editContext(plain)).toEqual({ body: plain, applied: undefined });
  });
});

describe('a server', () => {
  const body = { ...BASE, messages, context_management: edit() };

  test('says what it has left out, and counts what is left', async () => {
    const server = await startScriptedServer({ replies: [say('one'), say('two')] });
    const edited = eventsOf((await ask(server.url, body, { headers })).body);
    const plain = eventsOf((await ask(server.url, { ...BASE, messages })).body);
    const inputOf = (events: typeof plain) =>
      (events.at(-2)?.data.usage as { input_tokens: number } | undefined)?.input_tokens ?? 0;
    expect(edited.at(-2)?.data.context_management).toEqual({ applied_edits: applied(2, 194) });
    expect(plain.at(-2)?.data).not.toHaveProperty('context_management');
    expect(inputOf(plain) - inputOf(edited)).toBe(194);
    await server.close();
  });

  test('wants the beta, and measures the window by what is left', async () => {
    const server = await startScriptedServer({ replies: [say('one')], window: 150 });
    const answer = await ask(server.url, body);
    expect(errorOf(answer).message).toContain('Extra inputs are not permitted');
    expect(server.violations).toMatchObject([{ rule: 'SX', path: 'context_management' }]);
    expect((await ask(server.url, body, { headers })).status).toBe(200);
    expect(errorOf(await ask(server.url, { ...BASE, messages })).message).toContain('too long');
    await server.close();
  });

  test('refuses, or takes no notice, as the script says', async () => {
    const refusing = await startScriptedServer({ replies: [], contextEditing: 'refuse' });
    expect((await ask(refusing.url, body, { headers })).status).toBe(400);
    expect(refusing.violations).toEqual([]);
    await refusing.close();
    const ignoring = await startScriptedServer({ replies: [say('x')], contextEditing: 'ignore' });
    const events = eventsOf((await ask(ignoring.url, body)).body);
    expect(events.at(-2)?.data).not.toHaveProperty('context_management');
    await ignoring.close();
  });
});
