/**
 * The window is full again right after each summary: further summaries would only burn money.
 */
import { expect, it } from 'vitest';
import { callTool, computed } from '../../src/testing/index.ts';
import { summing } from '../tools/gates.ts';
import { hostTool } from '../tools/host-tool.ts';
import { tell } from '../tools/story.ts';

it('summaries in a row end the turn', async () => {
  const told = await tell({
    gates: summing,
    script: {
      replies: [computed((_, n) => callTool('Fill', { n }), { times: 'always' })],
      compactions: ['<summary>CONDENSED</summary>'],
    },
    config: () => ({
      tools: [hostTool('Fill', () => 'x'.repeat(40_000))],
      autoCompactWindow: 20_000,
    }),
  });
  const lines = told.lines.map((line) => line.replace(/x+…/, 'x…'));
  expect(lines).toEqual([
    'init',
    'status requesting',
    'model calls Fill {"n":0}',
    'result "x…',
    '→ next_turn',
    'status requesting',
    'model calls Fill {"n":1}',
    'result "x…',
    '→ next_turn',
    'status compacting',
    'compact_boundary',
    'status null',
    'status requesting',
    'model calls Fill {"n":2}',
    'result "x…',
    '→ next_turn',
    'status compacting',
    'compact_boundary',
    'status null',
    'status requesting',
    'model calls Fill {"n":3}',
    'result "x…',
    '→ next_turn',
    'status compacting',
    'compact_boundary',
    'status null',
    'status requesting',
    'model calls Fill {"n":4}',
    'result "x…',
    '→ next_turn',
    'status compacting',
    'compact_boundary',
    'status null',
    'end rapid_refill_breaker (error_during_execution) ""',
  ]);
});
