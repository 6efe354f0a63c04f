/** What breaks other engines' context: huge input, huge results, tiny windows, odd histories. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callTool, computed, httpError, say, tooLarge } from '../../../src/testing/index.ts';
import { hostTool, pixel } from '../../tools/host-tool.ts';
import { answer, past, user } from '../../tools/past.ts';
import { heard, tell } from '../../tools/story.ts';

const MB = 1024 * 1024;

describe('one input that is too large', () => {
  it('CMP-06 a prompt larger than the window: the end before any request, with sizes', async () => {
    const told = await tell({
      script: { replies: [] },
      prompts: ['word '.repeat(30_000)],
      options: { autoCompactWindow: 20_000 },
    });
    expect(told.last).toMatchObject({ is_error: true, terminal_reason: 'blocking_limit' });
    expect(told.server.requests).toEqual([]);
    expect(told.last.errors.join(' ')).toMatch(/about 5\d{4} tokens: prompts about 5\d{4}/);
  });

  it('CMP-06 a prompt that jumps over the threshold: a summary first', async () => {
    const told = await tell({
      script: { replies: [say('noted'), say('done')] },
      prompts: [`remember ${'word '.repeat(6_000)}`, `and ${'that too '.repeat(2_000)}`],
      options: { autoCompactWindow: 20_000 },
    });
    expect(told.server.requestsOf('compact')).toHaveLength(1);
    expect(told.last).toMatchObject({ is_error: false, result: 'done' });
    expect(told.requests.map(heard).at(-1)?.join()).toContain('that too that too');
  });

  it('MCP-06 a result of 100 MB: in a file, a preview in the request', async () => {
    const size = 100 * MB;
    const huge = hostTool('mcp__far__dump', () => `begin ${'x'.repeat(size)}`);
    let saved = 0;
    const told = await tell({
      script: { replies: [callTool('mcp__far__dump'), say('done')] },
      config: (config) => ({ tools: [...config.tools, huge], persistSession: false }),
      after: (_, { home }) => {
        for (const file of filesIn(home)) saved = Math.max(saved, statSync(file).size);
      },
    });
    expect(told.last).toMatchObject({ is_error: false, result: 'done' });
    expect(told.requests.at(-1)?.bytes).toBeLessThan(60_000);
    const [result = ''] = told.requests.map(heard).at(-1)?.slice(-1) ?? [];
    const left = size + 'begin '.length - 10_000_000;
    expect(result).toContain(`and ${left.toLocaleString('en-US')} more were left out. As much`);
    expect(result).toMatch(/ is in the file .*begin x/s);
    // the executor has cut it before: beyond ten million characters nobody reads
    expect(saved).toBeGreaterThan(9_000_000);
  }, 60_000);
});

describe('windows of 8,000 and 16,000 tokens', () => {
  it.each([8_000, 16_000])(
    '%d: many rounds, summed up on the way, come to their end',
    async (window) => {
      const read = hostTool('Look', () => 'a line of it\n'.repeat(window / 40));
      const told = await tell({
        script: {
          window,
          replies: [
            computed(({ sequence }) => callTool('Look', { sequence }), { times: 20 }),
            say('done'),
          ],
        },
        config: () => ({ tools: [read] }),
        options: { autoCompactWindow: window },
      });
      expect(told.last).toMatchObject({ is_error: false, result: 'done' });
      expect(told.lines.filter((line) => line === 'compact_boundary').length).toBeGreaterThan(1);
      expect(told.transitions).not.toContain('reactive_compact_retry');
    },
  );
});

describe('a history that begins in the middle', () => {
  it('without a first user message is made legal, and can be summed up', async () => {
    const told = await tell({
      script: { replies: [say('going on'), say('done')] },
      prompts: ['go on', '/compact', 'and now'],
      config: () => ({
        initialMessages: past(answer('m1', `I was saying ${'so '.repeat(9_000)}`), user('yes?')),
      }),
    });
    expect(told.results.map(({ is_error: isError }) => isError)).toEqual([false, false, false]);
    expect(told.lines).toContain('compact_boundary');
  });
});

describe('media that are refused', () => {
  const look = [{ type: 'text' as const, text: 'look' }, pixel];

  it('FILE-11 a refused image becomes text, once, and the next prompt works', async () => {
    const refused = httpError(
      400,
      'invalid_request_error',
      'messages.0.content.2.image.source.base64: image exceeds the maximum',
    );
    const told = await tell({
      script: { replies: [refused, say('ok'), say('hello')] },
      prompts: [look, 'hello'],
    });
    expect(told.transitions).toEqual(['media_strip_retry']);
    expect(told.results.map(({ result }) => result)).toEqual(['ok', 'hello']);
    expect(JSON.stringify(told.requests.at(-1)?.body)).not.toContain('base64');
  });

  it('FILE-14 413: once more with strictly fewer bytes, then the end', async () => {
    const told = await tell({
      script: { replies: [tooLarge(), tooLarge(), say('never')] },
      prompts: [[...look, pixel, pixel]],
    });
    expect(told.last.is_error).toBe(true);
    const [first, second] = told.requests.map(({ bytes }) => bytes);
    expect(second).toBeLessThan(first ?? 0);
    expect(told.requests).toHaveLength(2);
  });
});

function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
