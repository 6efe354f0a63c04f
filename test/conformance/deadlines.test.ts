/** @see deadlines.ts */
import { describe, expect, it } from 'vitest';
import { queryMachine } from '../../machines/query.machine.ts';
import { shortId, waitingNodes } from './chart.ts';
import { clockFault, waitFault, waits } from './deadlines.ts';

describe('with every service silent', () => {
  it('every state that waits is looked at', () => {
    expect(Object.keys(waits).sort()).toEqual(waitingNodes.map(({ id }) => shortId(id)).sort());
  });
  it.each(Object.entries(waits))('%s is left at its deadline, and it ends', (state, wait) => {
    expect(waitFault(queryMachine, state, wait)).toBeUndefined();
  });
  it.each(Object.entries(waits))('%s: the host’s time ends it', (state, wait) => {
    expect(clockFault(queryMachine, state, wait)).toBeUndefined();
  });
});
