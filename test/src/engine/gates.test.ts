/**
 * Gates in all combinations that matter: all on, all off, and every two of them in all four ways.
 * Whatever is open, what always holds holds (`invariantsOf`), no model is asked for what is shut,
 * and the turn ends as it must. `npm run gates` tells all stories so.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Gates } from '../../../src/config.ts';
import {
  callTool,
  callTools,
  message,
  overloaded,
  say,
  text,
  tooLong,
  toolUse,
} from '../../../src/testing/index.ts';
import { gateRows, pairsIn, pairsOf, pairwise } from '../../tools/gates.ts';
import { type Place, type Story, type Told, tell } from '../../tools/story.ts';

interface Scenario extends Story {
  readonly endsAs: (gates: Gates) => readonly string[];
}

const READS = 14;
const read = ({ cwd }: Pick<Place, 'cwd'>, n: number) => ({ file_path: join(cwd, `${n}.txt`) });
const prepare = ({ cwd }: Pick<Place, 'cwd'>) => {
  for (let n = 0; n < READS; n += 1)
    writeFileSync(join(cwd, `${n}.txt`), 'fourteen chars\n'.repeat(800));
};

const scenarios: Readonly<Record<string, Scenario>> = {
  'rounds of tools, one of them wide': {
    prepare,
    script: (place) => ({
      replies: [
        callTool('Read', read(place, 0)),
        callTools([0, 1, 2].map((n) => ['Read', read(place, n)] as const)),
        say('done', { headersDelayMs: 50 }),
      ],
    }),
    endsAs: () => ['completed'],
  },
  'an overloaded server, and a stream that dies after a call': {
    prepare,
    script: (place) => ({
      replies: [
        overloaded(),
        message([text('Let me see. '), toolUse('Read', read(place, 0))], {
          fault: { kind: 'cut', after: { block: 1 } },
        }),
        say('done'),
      ],
    }),
    endsAs: () => ['completed'],
  },
  'a prompt that is refused as too long': {
    script: { replies: [say('Noted.'), say('Noted, too.'), tooLong(), say('done')] },
    prompts: [`remember ${'x'.repeat(60_000)}`, 'and this', 'go on'],
    endsAs: ({ reactiveCompact }) => [reactiveCompact ? 'completed' : 'prompt_too_long'],
  },
  'more than a small window holds': {
    prepare,
    script: (place) => ({
      replies: [
        ...Array.from({ length: READS }, (_, n) => callTool('Read', read(place, n))),
        say('done'),
      ],
    }),
    options: { autoCompactWindow: 60_000 },
    endsAs: ({ autocompact, reactiveCompact, microcompact, contextCollapse }) => {
      if (autocompact || reactiveCompact || microcompact) return ['completed'];
      // Nobody waits for a summary of a few rounds: it may come too late.
      return contextCollapse ? ['completed', 'blocking_limit'] : ['blocking_limit'];
    },
  },
};

/** Side calls and betas that were made, and the gates by which they may be. */
const shutButUsed = ({ server, transitions }: Told, gates: Gates): readonly string[] => {
  const made = (purpose: 'collapse' | 'compact' | 'tool_summary') =>
    server.requestsOf(purpose).length > 0;
  // Here no summary fails: each that the rung has asked for is followed by the request again.
  const ofRung = transitions.filter((reason) => reason === 'reactive_compact_retry').length;
  const ofStage = server.requestsOf('compact').length - ofRung;
  const edits = server.requests.some(({ body }) => body.context_management !== undefined);
  const used: Readonly<Record<string, readonly [made: boolean, isOpen: boolean]>> = {
    collapse: [made('collapse'), gates.contextCollapse],
    'compact by the stage': [ofStage !== 0, gates.autocompact],
    'compact by the rung': [ofRung > 0, gates.reactiveCompact],
    tool_summary: [made('tool_summary'), gates.emitToolUseSummaries],
    context_management: [edits, gates.microcompact && gates.cachedMicrocompact],
  };
  return Object.entries(used).flatMap(([name, [isMade, isOpen]]) =>
    isMade && !isOpen ? [name] : [],
  );
};

const nameOf = (gates: Gates) =>
  Object.entries(gates)
    .flatMap(([name, isOpen]) => (isOpen ? [name] : []))
    .join(' ') || 'none';

describe.each(Object.entries(scenarios))('%s', (_, { endsAs, ...story }) => {
  it.each(gateRows.map((gates) => [nameOf(gates), gates] as const))('%s', async (__, gates) => {
    const told = await tell({ ...story, gates });
    expect(endsAs(gates)).toContain(told.last.terminal_reason);
    expect(shutButUsed(told, gates)).toEqual([]);
  });
});

describe('the rows', () => {
  it('have every two switches in all four ways, whatever they are', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/), {
      minLength: 2,
      maxLength: 14,
    });
    fc.assert(
      fc.property(names, (switches) => {
        const rows = pairwise(switches);
        expect(pairsIn(rows, switches).size).toBe(pairsOf(switches).length * 4);
        // Far fewer than all combinations: about twice the logarithm of their number.
        expect(rows.length).toBeLessThanOrEqual(6 + switches.length);
      }),
    );
  });

  it('begin with all on and all off', () => {
    expect(pairwise(['a', 'b', 'c']).slice(0, 2)).toEqual([
      { a: true, b: true, c: true },
      { a: false, b: false, c: false },
    ]);
  });
});
