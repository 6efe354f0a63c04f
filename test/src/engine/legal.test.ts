/**
 * No history wedges a session. Whatever lies in it (a crash, an older version, another product), the
 * request is legal, the host is told what was repaired, and nothing is repaired twice.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { say } from '../../../src/testing/index.ts';
import { answer, call, past, result, user } from '../../tools/past.ts';
import { heard, tell } from '../../tools/story.ts';

const broken = past(
  answer('m0', 'It begins with an answer.'),
  user('go'),
  call('m1', 'a'),
  call('m1', 'b'),
  result('b', ''),
  result('stray', 'of no call'),
  user('and then'),
  answer('m2', '   '),
  call('m3', 'a'),
  result('a', 'half an emoji \ud83c'),
  answer('m4', 'It ends with an answer.'),
);

describe('a history that is broken', () => {
  it('is sent legal, told once, and stays repaired', async () => {
    const told = await tell({
      script: { replies: [say('ok'), say('ok')] },
      prompts: ['go on', 'and on'],
      config: () => ({ initialMessages: broken }),
      except: ['answered'],
    });
    expect(told.lines.filter((line) => line.startsWith('history_repaired')).length).toBe(1);
    expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
    const [first, second] = told.requests.map(heard);
    expect(second?.slice(0, first?.length)).toEqual(first);
    expect(first?.at(-1)).toBe('user: go on');
  });

  it('of any kind: every request passes the strict server', async () => {
    const ids = fc.constantFrom('a', 'b', 'c', '', 'ü');
    const texts = fc.constantFrom('words', '', '  ', '\ud800', 'x'.repeat(100));
    const piece = fc.oneof(
      texts.map(user),
      fc.tuple(fc.constantFrom('m1', 'm2', 'm3'), texts).map(([id, text]) => answer(id, text)),
      fc.tuple(fc.constantFrom('m1', 'm2', 'm3'), ids).map(([api, id]) => call(api, id)),
      fc.tuple(ids, texts).map(([id, text]) => result(id, text)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 14 }), async (pieces) => {
        const told = await tell({
          script: { replies: [say('ok'), say('ok')] },
          prompts: ['go on', 'and on'],
          config: () => ({ initialMessages: past(...pieces), persistSession: false }),
          // Calls that a crash left open are answered before the chart begins.
          except: ['answered', 'view'],
        });
        expect(told.results.map((r) => r.terminal_reason)).toEqual(['completed', 'completed']);
      }),
      { numRuns: 40 },
    );
  });
});
