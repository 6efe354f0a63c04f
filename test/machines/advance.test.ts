import { expect, it } from 'vitest';
import { type Advance, reducers } from '../../machines/advance.ts';
import { type ContinueReason, spendsTurn } from '../../machines/reasons.ts';
import { begin } from '../../machines/state.ts';

const state = begin({ queryId: 'q', model: 'm', history: { head: '0/', count: 0, tokens: 0 } });

it.each(Object.keys(reducers) as ContinueReason[])('%s spends a turn, or it does not', (reason) => {
  // Who resumes a session counts turns by their reasons, the chart by its state: one number.
  const change: Advance = reducers[reason](state, { type: 'hooks.passed' });
  const { turnCount = state.turnCount } = change;
  expect(turnCount > state.turnCount).toBe(spendsTurn(reason));
});
