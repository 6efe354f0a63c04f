/** kill -9 between preparing a collapse and putting it in place, with real processes. */
import { afterEach, expect, it } from 'vitest';
import { callTool, message, say, text, tooLong } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../../tools/cli.ts';
import { findings, notesOf, textOf, until } from '../../tools/collapses.ts';

let box: CliBox;
afterEach(() => box.close());

const id = '55555555-5555-4555-8555-555555555555';
const flags = (window: number) => [
  ...['-p', '--output-format', 'stream-json', '--model=claude-sonnet-4-5', '--tools=Bash'],
  ...['--dangerously-skip-permissions', '--setting-sources=', '--system-prompt=Be brief.'],
  ...['--settings', JSON.stringify({ contextCollapse: true, autoCompactWindow: window })],
];
const dig = (n: number) =>
  callTool('Bash', { command: `yes 'finding-${n}-${n * 7_919} stands here' | head -c 8000` });

it('the next process has what was prepared, and cures a refusal with it', async () => {
  box = await openCliBox({
    replies: [
      ...[0, 1, 2, 3, 4, 5].map(dig),
      message([text('never ends')], { fault: { kind: 'stall', after: 'message_start' } }),
      tooLong(),
      say('It fits.'),
    ],
    collapses: [findings],
  });
  const child = box.start([...flags(24_000), '--session-id', id, 'dig']);
  child.read();
  child.end();
  await until(() => notesOf(box.home, 'collapse-staged').length === 2);
  child.kill('SIGKILL');
  await child.ended;
  expect(notesOf(box.home, 'collapse-committed')).toEqual([]);

  const again = await box.run([...flags(40_000), '--resume', id, 'go on']);
  expect(again.results).toMatchObject([{ terminal_reason: 'completed', result: 'It fits.' }]);
  const sent = textOf(box.server.requestsOf('loop').at(-1));
  for (const n of [0, 1, 2, 3, 4, 5]) expect(sent).toContain(`finding-${n}-${n * 7_919}`);
  expect(sent.match(/FOLDED/g)).toHaveLength(2);
  expect(box.server.requestsOf('collapse')).toHaveLength(2);
  expect(box.server.requestsOf('compact')).toEqual([]);
  expect(box.server.violations).toEqual([]);
}, 120_000);
