/** A full window, and a summary that is itself too long. */
import { describe, expect, it } from 'vitest';
import { SUMMARY_MARK, say, tooLong } from '../../../src/testing/index.ts';
import { summing } from '../../tools/gates.ts';
import { answer, past, user } from '../../tools/past.ts';
import { heard, tell } from '../../tools/story.ts';

const long = past(
  ...Array.from({ length: 12 }, (_, i) => [
    user(`prompt ${i} ${'p'.repeat(3_000)}`),
    answer(`m${i}`, `answer ${i} ${'a'.repeat(3_000)}`),
  ]).flat(),
);
const tokensOf = (bytes: number) => Math.round(bytes / 4);

describe('CMP-01 the summary itself is too long', () => {
  it('the next try is smaller, and says how much was dropped', async () => {
    const told = await tell({
      gates: summing,
      script: {
        replies: [tooLong(21_000, 20_000), say('done')],
        compactions: [tooLong(21_000, 20_000), say(`<summary>${SUMMARY_MARK}</summary>`)],
      },
      config: () => ({ initialMessages: long }),
    });
    const tries = told.server.requestsOf('compact').map(({ bytes }) => tokensOf(bytes));
    expect(tries.length).toBe(2);
    expect(tries[1]).toBeLessThan(tries[0] ?? 0);
    const [first] = told.requests.map(heard).at(-1) ?? [];
    expect(first).toContain(SUMMARY_MARK);
    expect(first).toMatch(/\d+ (older |earlier |oldest )?messages/);
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'done' });
  });

  it('after three tries the turn ends, and what the user said is still there', async () => {
    const told = await tell({
      gates: summing,
      script: {
        replies: [tooLong(21_000, 20_000), say('never asked for')],
        compactions: [tooLong(21_000, 20_000)],
      },
      config: () => ({ initialMessages: long }),
    });
    expect(told.server.requestsOf('compact').length).toBeLessThanOrEqual(3);
    expect(told.last.terminal_reason).toBe('prompt_too_long');
    expect(told.history.length).toBe(long.length + 1);
  });
});

describe('summaries that fail', () => {
  it('a broken one before sending counts, and after three in a row none is tried', async () => {
    // Above the threshold of this window (26,250), below what is not sent any more (29,200).
    const usage = {
      input_tokens: 27_500,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
    };
    const told = await tell({
      gates: summing,
      script: { replies: [], whenExhausted: say('ok', { usage }), compactions: [say('   ')] },
      prompts: ['1', '2', '3', '4', '5', '6'],
      config: () => ({ initialMessages: long.slice(0, 8), autoCompactWindow: 40_000 }),
    });
    expect(told.results.map((r) => r.terminal_reason)).toEqual(Array(6).fill('completed'));
    expect(told.lines.filter((line) => line.startsWith('status compacting')).length).toBe(3);
  });

  it('the window of the server is smaller than the table says: a summary, and on', async () => {
    const told = await tell({
      gates: summing,
      script: { replies: [say('done')], window: 16_000 },
      config: () => ({ initialMessages: long }),
    });
    expect(told.transitions).toEqual(['reactive_compact_retry']);
    expect(told.last.result).toBe('done');
  });
});
