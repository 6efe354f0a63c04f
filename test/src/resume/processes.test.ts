/** TRN-06 and HEAD-07 with real processes. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { message, say, text, toolUse } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox, type WireMessage } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box.close());

const flags = [
  ...['-p', '--output-format', 'stream-json', '--model=claude-sonnet-4-5'],
  ...['--dangerously-skip-permissions', '--setting-sources='],
];
const id = '44444444-4444-4444-8444-444444444444';
const transcript = () => {
  const files = readdirSync(box.home, { recursive: true }).map(String);
  const file = files.find((name) => name.endsWith(`${id}.jsonl`)) ?? '';
  return readFileSync(path.join(box.home, file), 'utf8').trimEnd().split('\n');
};
const isCall = (said: WireMessage) => JSON.stringify(said).includes('"tool_use"');

it('of six processes at once on one session one wins; the others say why not', async () => {
  box = await openCliBox({
    replies: [say('first')],
    whenExhausted: message([text('I work')], { headersDelayMs: 1_500 }),
  });
  await box.run([...flags, '--session-id', id, 'begin']);
  const runs = await Promise.all(
    [1, 2, 3, 4, 5, 6].map((n) => box.run([...flags, '--resume', id, `prompt ${n}`])),
  );
  const good = runs.filter(({ code }) => code === 0);
  const refused = runs.filter(({ stderr }) =>
    /session .* is in use by another process/.test(stderr),
  );
  // On a slow machine one may have ended before another began; never two at once.
  expect(good.length).toBeGreaterThan(0);
  expect(good.length + refused.length).toBe(6);
  expect(refused.every(({ code, results }) => code === 2 && results.length === 0)).toBe(true);
  expect(box.server.requestsOf('loop')).toHaveLength(1 + good.length);
  for (const line of transcript()) expect(() => JSON.parse(line)).not.toThrow();
  expect(box.server.violations).toEqual([]);
});

it('TRN-06: beside a process that works a second one is refused; a third goes on after it', async () => {
  const wait = 'while [ ! -e go ]; do sleep 0.1; done';
  box = await openCliBox({
    replies: [say('first'), message([toolUse('Bash', { command: wait })]), say('A'), say('C')],
  });
  await box.run([...flags, '--session-id', id, 'begin']);
  const a = box.start([...flags, '--resume', id, 'from A']);
  a.read();
  a.end();
  await a.until(isCall);
  const b = await box.run([...flags, '--resume', id, 'from B']);
  expect(b).toMatchObject({ code: 2, results: [] });
  expect(b.stderr).toMatch(/in use by another process/);
  writeFileSync(path.join(box.cwd, 'go'), '');
  expect((await a.ended).results).toMatchObject([{ result: 'A' }]);
  const c = await box.run([...flags, '--resume', id, 'from C']);
  expect(c.results).toMatchObject([{ terminal_reason: 'completed', result: 'C' }]);
  const sent = JSON.stringify(box.server.requestsOf('loop').at(-1)?.body.messages);
  expect(sent).toMatch(/from A.*from C/);
  expect(sent).not.toContain('from B');
  expect(box.server.violations).toEqual([]);
}, 60_000);

it('HEAD-07: a session that SIGTERM has ended is gone on with', async () => {
  box = await openCliBox({
    replies: [message([text('running'), toolUse('Bash', { command: 'sleep 30' })]), say('good')],
  });
  const child = box.start([...flags, '--session-id', id, 'begin']);
  child.read();
  child.end();
  await child.until(isCall);
  child.kill('SIGTERM');
  const ended = await child.ended;
  expect(ended).toMatchObject({ code: 143, results: [{ terminal_reason: 'aborted_tools' }] });
  const again = await box.run([...flags, '--resume', id, 'go on']);
  expect(again.results).toMatchObject([{ terminal_reason: 'completed', result: 'good' }]);
  expect(box.server.violations).toEqual([]);
});

it('a turn that kills its process each time is given up in words, with a code that is no success', async () => {
  const call = message([text('running'), toolUse('Bash', { command: 'touch runs; sleep 60' })]);
  box = await openCliBox({ replies: [call], whenExhausted: call });
  const dieIn = async (...more: readonly string[]) => {
    const requests = box.server.requests.length;
    const child = box.start([...flags, ...more]);
    child.read();
    child.end();
    await expect.poll(() => box.server.requests.length, { timeout: 20_000 }).toBe(requests + 1);
    await child.until(isCall);
    child.kill('SIGKILL');
    await child.ended;
  };
  await dieIn('--session-id', id, 'begin');
  for (let tries = 0; tries < 3; tries++) await dieIn('--resume', id, '--finish-interrupted');
  const givenUp = ['--resume', id, '--finish-interrupted', '--setting-sources='];
  const model = '--model=claude-sonnet-4-5';
  const requests = box.server.requests.length;
  const words = /was tried 3 times, .* Give a prompt/;
  const plain = await box.run(['-p', model, ...givenUp]);
  expect(plain).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(words) });
  const json = await box.run(['-p', model, '--output-format=json', ...givenUp]);
  expect(json).toMatchObject({ code: 1, stderr: expect.stringMatching(words) });
  expect(json.messages).toMatchObject([{ content: expect.stringMatching(words) }]);
  const host = await box.run([...flags, '--input-format=stream-json', ...givenUp]);
  expect(host).toMatchObject({ code: 1, results: [] });
  expect(box.server.requests).toHaveLength(requests);
  const child = box.start(['-p', model, ...givenUp, 'and now?']);
  child.end();
  await expect.poll(() => box.server.requests.length, { timeout: 20_000 }).toBe(requests + 1);
}, 120_000);
