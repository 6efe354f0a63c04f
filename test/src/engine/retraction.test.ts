/**
 * What is shown may be taken back; nothing else may be lost or invented. Random scripts with random
 * faults and interrupts: the host's view without what was taken back is the history with every
 * compaction undone, and the deltas that were not taken back are the text of what stands
 * (`src/testing/invariants.ts` checks it in every story; here the stories are random).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { terminalReasons } from '../../../machines/reasons.ts';
import {
  type Fault,
  httpError,
  message,
  overloaded,
  type ScriptedBlock,
  type Step,
  say,
  serverError,
  text,
  thinking,
  tooLong,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { tell } from '../../tools/story.ts';

const words = fc.constantFrom('One. ', 'Two words. ', ' ', '🎉 party. ');
const block: fc.Arbitrary<ScriptedBlock> = fc.oneof(
  { weight: 4, arbitrary: words.map((said) => text(said, { pieces: 2 })) },
  // Never the same twice: the server could not tell their order.
  { weight: 1, arbitrary: fc.uuid().map((id) => thinking(`hm, ${id}`)) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 }).map((n) => toolUse('Count', { n })) },
  { weight: 1, arbitrary: fc.constant(toolUse('Count', {}, { rawJson: '{"n": 1' })) },
);
const stopReason = fc.constantFrom(
  undefined,
  undefined,
  undefined,
  'max_tokens',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
);
const faultAt = (blocks: number): fc.Arbitrary<Fault | undefined> =>
  fc.option(
    fc
      .record({
        kind: fc.constantFrom('error', 'end', 'garbage', 'cut'),
        index: fc.nat({ max: Math.max(0, blocks - 1) }),
        place: fc.constantFrom('message_start', 'block start', 'block', 'blocks', 'message_delta'),
      })
      .map(({ kind, index, place }): Fault => {
        const inBlock = { block: index, ...(place === 'block start' ? { delta: -1 } : {}) };
        const isInBlock = blocks > 0 && (place === 'block' || place === 'block start');
        return {
          kind,
          after: isInBlock ? inBlock : place.startsWith('b') ? 'blocks' : place,
        } as Fault;
      }),
    { nil: undefined, freq: 2 },
  );
const answer = fc
  .array(block, { maxLength: 4 })
  .chain((content) => fc.tuple(fc.constant(content), stopReason, faultAt(content.length)))
  .map(([content, stop, fault]) =>
    message(content, {
      ...(stop === undefined ? {} : { stopReason: stop }),
      ...(fault ? { fault } : {}),
    }),
  );
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: answer },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>(
      overloaded(),
      serverError(),
      tooLong(),
      httpError(400, 'invalid_request_error', 'no'),
    ),
  },
);
const script = fc.record({
  replies: fc.array(step, { minLength: 1, maxLength: 6 }),
  /** The host says stop after so many messages of the last turn. */
  stopAfter: fc.option(fc.nat({ max: 12 }), { nil: undefined, freq: 4 }),
});

describe('random faults', () => {
  it('what the host holds is what stands', async () => {
    await fc.assert(
      fc.asyncProperty(script, async ({ replies, stopAfter }) => {
        let heardInLastTurn = -1;
        const told = await tell({
          script: { replies: [say('Noted.'), say('Noted, too.'), ...replies] },
          prompts: [`remember ${'x'.repeat(30_000)}`, 'and this', 'go on'],
          options: {
            includePartialMessages: true,
            thinking: { type: 'enabled', budgetTokens: 1_024 },
          },
          limits: { turnsMax: 6, retriesMax: 1, retryBaseMs: 1 },
          config: () => ({
            tools: [hostTool('Count', ({ n }) => `counted ${n}`)],
            persistSession: false,
          }),
          during: (said, engine) => {
            if (said.type === 'system' && said.subtype === 'init') heardInLastTurn = 0;
            else heardInLastTurn += 1;
            const turn = engine.messages.filter(({ origin }) => origin === 'prompt').length;
            if (turn === 3 && heardInLastTurn === stopAfter) engine.interrupt();
          },
          // Bytes of a stream that was cut or left may never have been read.
          except: ['usage'],
        });
        expect(Object.keys(terminalReasons)).toContain(told.last.terminal_reason);
      }),
      { numRuns: 40, endOnFailure: false },
    );
  });
});
