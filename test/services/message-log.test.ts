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
