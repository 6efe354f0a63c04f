/** What holds of the projection, whatever is collapsed in whatever history. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namesOf } from '../../../services/collapse/collapse.ts';
import { placesOf, project } from '../../../services/collapse/project.ts';
import type { Collapse } from '../../../services/collapse/record.ts';
import { mayCollapse, planSegments, tailFrom } from '../../../services/collapse/segments.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { ContentBlock, LogMessage, ToolResultBlock } from '../../../services/messages.ts';
import { repairHistory } from '../../../services/preprocess/legal-history.ts';
import { invent, revise } from '../../../services/preprocess/revise.ts';
import { callsOf, resultsOf } from '../../../services/preprocess/rounds.ts';
import { unbindThinking } from '../../../services/preprocess/unbind-thinking.ts';
import { isRequest, piecesOf } from '../../../services/recovery/split-history.ts';
import { unfolded } from '../../../src/originals.ts';
import { violationsOf } from '../preprocess/as-request.ts';
import { image, legalHistory, user, uuid } from '../preprocess/histories.ts';

const sizeOf = (messages: readonly LogMessage[]) => messages.length;
const noteOf = (messages: readonly LogMessage[]): Collapse => ({
  id: `note of ${messages[0]?.uuid}`,
  uuids: namesOf(messages),
  message: user('(collapsed)', {
    uuid: `note of ${messages[0]?.uuid}`,
    kind: 'note',
    origin: 'summary',
    isMeta: true,
  }),
  tokens: messages.length,
});

interface Case {
  readonly history: readonly LogMessage[];
  readonly collapses: readonly Collapse[];
}
/** Two turns, cut into portions of any size; some of them collapsed. */
const cases = (): fc.Arbitrary<Case> =>
  fc
    .record({
      turns: fc.tuple(legalHistory(), legalHistory()),
      tail: fc.nat({ max: 6 }),
      segment: fc.integer({ min: 1, max: 8 }),
      chosen: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
      odds: fc.array(fc.nat({ max: 5 }), { minLength: 16, maxLength: 16 }),
    })
    .map(({ turns: [first, second], tail, segment, chosen, odds }) => {
      // Ids of both turns are the same: those of the second get names of their own.
      const plain = [...first, ...second.map((message) => renamed(message))];
      const history = plain.flatMap((message, at) => odd(message, odds[at % odds.length] ?? 0));
      const portions = { tail, segment, segmentMin: 1 };
      const { segments } = planSegments(piecesOf(history), sizeOf, portions);
      const collapses = segments.flatMap(({ messages }, at) =>
        chosen[at] ? [noteOf(messages)] : [],
      );
      return { history, collapses };
    });
/** Scripts that run the other way, joined and combining signs, what lies outside the first plane. */
const ODD_WORDS = 'e\u0301 \u202eשלום\u202c 👩‍👩‍👧 𝔘 \u0000\ufeff 한국어';
/** Now and then: an image as a result, odd words, thinking that nobody can read, a server's tool. */
function odd(message: LogMessage, how: number): readonly LogMessage[] {
  const [block] = message.content;
  if (block?.type === 'tool_result' && how < 3) {
    const seen = [{ type: 'text', text: ODD_WORDS } as const, image()];
    const content = how === 0 ? ODD_WORDS : (seen as ToolResultBlock['content']);
    return [{ ...message, content: [{ ...block, content }] } as LogMessage];
  }
  if (block?.type === 'thinking' && how < 2)
    return [{ ...message, content: [{ type: 'redacted_thinking', data: 'c2VjcmV0' }] }];
  if (block?.type !== 'text' || message.role !== 'assistant' || how > 3) return [message];
  if (how === 0) return [{ ...message, content: [{ type: 'text', text: ODD_WORDS }] }];
  const base = { ...message, kind: 'other' } as const;
  const id = `srvtoolu_${message.uuid}`;
  const asks = { type: 'server_tool_use', id, name: 'web_search', input: {} };
  const gets = { type: 'web_search_tool_result', tool_use_id: id, content: [] };
  return [
    { ...base, uuid: uuid(), content: [asks as unknown as ContentBlock] },
    { ...base, uuid: uuid(), content: [gets as unknown as ContentBlock] },
    message,
  ];
}
const renamed = (message: LogMessage): LogMessage => ({
  ...message,
  ...(message.apiId === undefined ? {} : { apiId: `second ${message.apiId}` }),
  ...(message.toolUseId === undefined ? {} : { toolUseId: `second_${message.toolUseId}` }),
  content: message.content.map((block) => {
    if (block.type === 'tool_use') return { ...block, id: `second_${block.id}` };
    if (block.type !== 'tool_result') return block;
    return { ...block, tool_use_id: `second_${block.tool_use_id}` };
  }),
});
const always = (holds: (one: Case) => void) =>
  fc.assert(fc.property(cases(), holds), { numRuns: 400 });

describe('the projection', () => {
  it('collapses something in most cases', () => {
    const some = fc.sample(cases(), { numRuns: 200, seed: 7 });
    expect(some.filter(({ collapses }) => collapses.length > 0).length).toBeGreaterThan(60);
  });

  it('is legal, and legalize has nothing to do', () => {
    always(({ history, collapses }) => {
      const { messages } = project(history, collapses);
      const whole = [...messages, user('go on')];
      expect(violationsOf(whole)).toEqual([]);
      expect(repairHistory(whole).messages).toBe(whole);
    });
  });

  it('keeps calls and results together', () => {
    always(({ history, collapses }) => {
      const { messages } = project(history, collapses);
      const calls = messages.flatMap(callsOf).map(({ id }) => id);
      const results = messages.flatMap(resultsOf).map(({ tool_use_id }) => tool_use_id);
      expect(new Set(results)).toEqual(new Set(calls));
    });
  });

  it('keeps all that people have asked for, and the newest rounds', () => {
    always(({ history, collapses }) => {
      const { messages } = project(history, collapses);
      expect(messages.filter(isRequest)).toEqual(history.filter(isRequest));
      expect(messages.at(-1)).toBe(history.at(-1));
    });
  });

  it('does nothing the second time', () => {
    always(({ history, collapses }) => {
      const { messages } = project(history, collapses);
      const again = project(messages, collapses);
      expect(again.messages).toBe(messages);
      expect(again.places).toEqual([]);
    });
  });

  it('gives back every original', () => {
    always(({ history, collapses }) => {
      const log = new MessageLog();
      log.append(emptyHistory, history);
      const known = new Map(collapses.map((one) => [one.id, { ...one, isCommitted: true }]));
      const { messages } = project(history, collapses);
      const back = unfolded({ log, collapses: known }, messages);
      expect(back).toEqual(history);
    });
  });

  it('has the same beginning when the history grows, and when more is collapsed behind it', () => {
    always(({ history, collapses }) => {
      const { messages } = project(history, collapses);
      const grown = project([...history, user('more')], collapses).messages;
      expect(grown.slice(0, messages.length)).toEqual(messages);
      const fewer = collapses.slice(0, -1);
      const before = project(history, fewer);
      const last = placesOf(before.messages, collapses.slice(-1))[0];
      const shared = last?.from ?? before.messages.length;
      expect(messages.slice(0, shared)).toEqual(before.messages.slice(0, shared));
    });
  });

  it('finds messages that other stages have changed, and passes over what was invented', () => {
    always(({ history, collapses }) => {
      const changed = history.map((message, at) =>
        at % 2 ? revise(message, message.content) : message,
      );
      expect(project(changed, collapses).places.length).toBe(collapses.length);
      const unbound = unbindThinking(
        history.map((m) => ({ ...m, model: 'claude-sonnet-5' })),
        0,
      );
      expect(project(unbound, collapses).places.length).toBe(collapses.length);
      const repaired = history.flatMap((message) => [
        message,
        invent(message, { ...user('(invented)'), origin: 'repair' }),
      ]);
      expect(project(repaired, collapses).places.length).toBe(collapses.length);
    });
  });

  it('leaves a collapse alone of which a message is missing, or in another order', () => {
    always(({ history, collapses }) => {
      const [one] = collapses;
      if (!one) return;
      const without = history.filter((message) => message.uuid !== one.uuids.at(-1));
      expect(placesOf(without, [one])).toEqual([]);
      const foreign = history.flatMap((message) =>
        message.uuid === one.uuids.at(-1)
          ? [user('between', { uuid: uuid() }), message]
          : [message],
      );
      if (one.uuids.length > 1) expect(placesOf(foreign, [one])).toEqual([]);
    });
  });

  it('leaves a collapse alone in whose midst another message stands, with the same ends and number', () => {
    let met = 0;
    always(({ history, collapses }) => {
      const [one] = collapses;
      const inner = one?.uuids.slice(1, -1) ?? [];
      for (const name of inner) {
        met += 1;
        const replaced = history.map((message) =>
          message.uuid === name ? { ...message, uuid: uuid() } : message,
        );
        expect(placesOf(replaced, collapses.slice(0, 1))).toEqual([]);
      }
      // The same messages in another order: two of the midst change places.
      const [a, b] = inner.map((name) => history.findIndex((message) => message.uuid === name));
      if (a === undefined || b === undefined) return;
      const swapped = history.with(a, history[b] as LogMessage).with(b, history[a] as LogMessage);
      expect(placesOf(swapped, collapses.slice(0, 1))).toEqual([]);
    });
    expect(met).toBeGreaterThan(50); // the test is about something
  });

  it('takes the first of two that overlap', () => {
    always(({ history, collapses }) => {
      const [one, two] = collapses;
      if (!one || !two) return;
      const both: Collapse = { ...noteOf(history), id: 'both', uuids: namesOf(history) };
      expect(project(history, [one, both]).places.map(({ collapse }) => collapse)).toEqual([one]);
      expect(project(history, [both, one]).places.map(({ collapse }) => collapse)).toEqual([both]);
    });
  });
});

describe('segments', () => {
  it('are finished rounds before the protected tail, each at most once', () => {
    fc.assert(
      fc.property(
        legalHistory(),
        fc.nat({ max: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (history, tail, segment) => {
          const pieces = piecesOf(history);
          const { segments, decided } = planSegments(pieces, sizeOf, {
            tail,
            segment,
            segmentMin: 1,
          });
          const sizes = pieces.map(({ messages }) => messages.length);
          const end = tailFrom(sizes, pieces, tail);
          expect(decided).toBeLessThanOrEqual(end);
          const kept = sizes.slice(end).reduce((sum, size) => sum + size, 0);
          const lastRound = pieces.findLastIndex(({ hasAnswer }) => hasAnswer);
          if (end < lastRound) expect(kept).toBeLessThanOrEqual(tail);
          const old = new Set(pieces.slice(0, end).flatMap(({ messages }) => messages));
          const taken = segments.flatMap(({ messages }) => messages);
          expect(new Set(taken).size).toBe(taken.length);
          expect(taken.every((message) => old.has(message))).toBe(true);
          for (const { messages } of segments) {
            expect(piecesOf(messages).every(mayCollapse)).toBe(true);
          }
          // Planned again behind what was decided, nothing comes twice and nothing is lost.
          const rest = planSegments(pieces.slice(decided), sizeOf, {
            tail,
            segment,
            segmentMin: 1,
          });
          expect(rest.segments).toEqual([]);
        },
      ),
      { numRuns: 400 },
    );
  });
});
