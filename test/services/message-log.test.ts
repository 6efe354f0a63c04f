import fc from 'fast-check';
import { expect, it } from 'vitest';
import { emptyHistory, MessageLog } from '../../services/message-log.ts';
import type { LogMessage } from '../../services/messages.ts';

const message = (uuid: string): LogMessage => ({
  uuid,
  role: 'user',
  kind: 'note',
  origin: 'prompt',
  timestamp: '2026-01-01T00:00:00.000Z',
  content: [{ type: 'text', text: uuid }],
});
const uuidsOf = (messages: readonly LogMessage[]) => messages.map(({ uuid }) => uuid);

/** What can be done to a history; `on` chooses which of those that there are. */
const operation = fc.record({
  on: fc.nat(),
  what: fc.constantFrom('extend', 'rewrite', 'rewriteFrom'),
  kept: fc.nat(12),
  fresh: fc.nat(4),
});

it('every history reads as a plain list would, however much of it is shared', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (operations) => {
      const log = new MessageLog();
      // The naive log: a whole list for each head that was ever given out.
      const lists = new Map<string, readonly string[]>([[emptyHistory.head, []]]);
      const tips: string[] = [emptyHistory.head];
      let names = 0;
      for (const { on, what, kept, fresh } of operations) {
        const at = on % tips.length;
        const from = tips[at] ?? '';
        const old = lists.get(from) ?? [];
        const added = Array.from({ length: fresh }, () => `m${names++}`).map(message);
        const changed = [...old.slice(0, kept), ...uuidsOf(added)];
        if (what === 'extend') {
          const { head } = log.append({ head: from, count: old.length, tokens: 0 }, added);
          lists.set(head, [...old, ...uuidsOf(added)]);
          tips[at] = head; // a history goes on from its end only
        } else {
          const messages = changed.map(message);
          const { head, count, tokens } =
            what === 'rewrite' ? log.rewrite(messages, 7) : log.rewriteFrom(from, messages, 7);
          expect({ count, tokens }).toEqual({ count: changed.length, tokens: 7 });
          lists.set(head, changed);
          tips.push(head);
        }
        for (const [head, list] of lists) {
          expect(uuidsOf(log.at(head))).toEqual(list);
          expect(log.depthOf(head)).toBe(list.length);
        }
      }
      for (const tip of tips) {
        const list = lists.get(tip) ?? [];
        for (const [head, start] of lists) {
          const after = uuidsOf(log.since(head, tip));
          const isOn = log.depthOf(head) + after.length === list.length;
          expect(after).toEqual(isOn ? list.slice(start.length) : list);
        }
      }
    }),
  );
});

it('a change at the end costs what was changed, not the history', () => {
  const log = new MessageLog();
  const old = Array.from({ length: 1_000 }, (_, at) => message(`m${at}`));
  const before = log.append(emptyHistory, old.slice(0, 990));
  const whole = log.append(before, old.slice(990));
  const after = log.rewriteFrom(whole.head, [...old.slice(0, 995), message('other')], 0);
  expect(uuidsOf(log.since(before.head, after.head))).toEqual([
    ...['m990', 'm991', 'm992', 'm993', 'm994', 'other'],
  ]);
  // What is left out at the end does not lead back into the old history.
  const shorter = log.rewriteFrom(whole.head, old.slice(0, 995), 0);
  log.append(shorter, [message('next')]);
  expect(uuidsOf(log.at(whole.head)).slice(-2)).toEqual(['m998', 'm999']);
});

it('what is forgotten is gone, and every history that stays reads as before', () => {
  const step = fc.record({
    on: fc.nat(),
    what: fc.constantFrom('extend', 'rewrite', 'forget'),
    kept: fc.nat(12),
    fresh: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const log = new MessageLog();
      let known = new Map<string, readonly string[]>([[emptyHistory.head, []]]);
      let sinceCut = new Map(known);
      let names = 0;
      for (const { on, what, kept, fresh } of steps) {
        const heads = [...known.keys()];
        const from = heads[on % heads.length] ?? '';
        const old = known.get(from) ?? [];
        const added = Array.from({ length: fresh }, () => message(`m${names++}`));
        if (what === 'forget') {
          log.forget([from], ({ uuid }) => [uuid]);
          known = new Map([...sinceCut, [from, old], [emptyHistory.head, []]]);
          sinceCut = new Map();
          expect(log.size).toBeLessThanOrEqual(new Set([...known.values()].flat()).size);
        } else {
          const list = what === 'extend' ? old : old.slice(0, kept);
          const { head } =
            what === 'extend'
              ? log.append({ head: from, count: old.length, tokens: 0 }, added)
              : log.rewrite([...list.map((uuid) => log.get(uuid)), ...added], 0);
          known.set(head, [...list, ...uuidsOf(added)]);
          sinceCut.set(head, [...list, ...uuidsOf(added)]);
        }
        for (const [head, list] of known) expect(uuidsOf(log.at(head))).toEqual(list);
      }
      for (let n = 0; n < names; n += 1) {
        if (log.has(`m${n}`)) expect(log.wasAsked(`m${n}`)).toBe(true);
      }
    }),
  );
});

it('a pinned history stays, and so does what a message stands for', () => {
  const log = new MessageLog();
  const begin = log.append(emptyHistory, [message('old'), message('older')]);
  const behind = log.append(emptyHistory, [message('behind')]);
  log.pin(begin.head);
  const namesBehind = ({ uuid }: LogMessage) => (uuid === 'note' ? ['behind'] : [uuid]);
  let now = log.rewrite([message('note')], 0);
  for (let cut = 0; cut < 3; cut += 1) {
    const before = now;
    now = log.rewrite([message('note'), message(`cut-${cut}`)], 0);
    log.forget([before.head, now.head], namesBehind);
  }
  expect(uuidsOf(log.at(begin.head))).toEqual(['old', 'older']);
  expect(log.has('behind')).toBe(true);
  expect(log.at(behind.head)).toEqual([]);
  expect(log.has('cut-0')).toBe(false);
  expect(log.wasAsked('cut-0')).toBe(true);
});
