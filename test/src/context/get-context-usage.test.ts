/** Hosts ask the executable over the control protocol; `/compact` is a prompt like any other there. */
import { expect, it, onTestFinished } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import { openCliBox, type WireMessage } from '../../tools/cli.ts';

const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const prompt = (content: string, uuid: string) =>
  line({ type: 'user', uuid, message: { role: 'user', content } });

it('get_context_usage, and /compact over stream-json', async () => {
  const box = await openCliBox({ replies: [say(`one ${'x'.repeat(30_000)}`), say('two')] });
  onTestFinished(() => box.close());
  const asked = {
    type: 'control_request',
    request_id: 'r1',
    request: { subtype: 'get_context_usage' },
  };
  const { results, messages, code } = await box.run(
    ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    line(asked) + prompt('first', 'p1') + prompt('second', 'p2') + prompt('/compact', 'p3'),
  );
  // the second prompt may be folded into the first turn; a command never is
  const last = results.at(-1);
  expect(last).toMatchObject({ is_error: false, num_turns: 0, user_message_uuids: ['p3'] });
  expect(String(last?.result)).toMatch(/^(The conversation was summed up|Not summed up)/);
  expect(code).toBe(0);
  const answer = messages.find((message) => message?.type === 'control_response');
  const { response } = (answer as WireMessage & { response: { response: Usage } }).response;
  expect(response.totalTokens).toBeGreaterThan(1_000);
  expect(response.categories.map(({ id }) => id)).toContain('system_tools');
  expect(response.rawMaxTokens).toBeGreaterThan(100_000);
  const compacted = await box.run(['-p', '/compact', '--output-format', 'json']);
  expect(compacted.code).toBe(0);
  expect(compacted.results[0]).toMatchObject({ is_error: false, terminal_reason: 'completed' });
});

interface Usage {
  readonly totalTokens: number;
  readonly rawMaxTokens: number;
  readonly categories: readonly { readonly id: string }[];
}
