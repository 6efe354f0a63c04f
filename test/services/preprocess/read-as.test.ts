/** A history that was changed is read so again, from what was said and what the lines say of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReadingLines } from '../../../services/journal/reading-lines.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { readAgain, readingOf } from '../../../services/preprocess/read-as.ts';
import { invent, revise } from '../../../services/preprocess/revise.ts';
import { unbindThinking } from '../../../services/preprocess/unbind-thinking.ts';
import { assistant, call, result, thought, user } from './histories.ts';

const nothingKnown = () => false;
const overDisk = <T>(value: T): T => JSON.parse(JSON.stringify(value));
/** Through a file, as the next process gets it. */
const through = (said: readonly LogMessage[], read: readonly LogMessage[]) => {
  const byName = new Map(said.map((message) => [message.uuid, message]));
  const lines = new ReadingLines();
  const reading = readingOf(read, nothingKnown, (uuid) => byName.get(uuid));
  lines.take(overDisk({ type: 'read-as', ...reading }));
  return readAgain(overDisk(said), lines.result);
};

/** Adaptive: what it thought is bound to what stood before. */
const bound = (message: LogMessage): LogMessage => ({ ...message, model: 'claude-opus-4-7' });

describe('a history is read again', () => {
  it('whatever stages have made of its messages', () => {
    const rounds = fc.array(
      fc.record({ shorter: fc.boolean(), thinks: fc.boolean(), words: fc.string() }),
      { minLength: 1, maxLength: 12 },
    );
    fc.assert(
      fc.property(rounds, fc.nat(40), fc.boolean(), (drawn, from, invents) => {
        const said = drawn.flatMap(({ thinks, words }, n) => [
          ...(thinks ? [bound(thought(`m${n}`, words))] : []),
          call(`m${n}`, `t${n}`),
          result(`t${n}`, words),
        ]);
        const shorter = said.map((message) => {
          const n = Number(message.toolUseId?.slice(1));
          if (message.kind !== 'tool_result' || !drawn[n]?.shorter) return message;
          return revise(message, [
            { type: 'tool_result', tool_use_id: `t${n}`, content: 'cleared' },
          ]);
        });
        const read = [...unbindThinking(shorter, from % said.length)];
        const at = from % read.length;
        const anchor = read[at];
        if (invents && anchor)
          read.splice(at + 1, 0, invent(anchor, { ...user('(nobody said this)') }));
        expect(through(said, read)).toEqual(overDisk(read));
      }),
    );
  });

  it('what is not there any more takes nothing else with it', () => {
    const said = [user('begin'), assistant('m1', 'one'), assistant('m2', 'two')];
    const [first, second, third] = said as [LogMessage, LogMessage, LogMessage];
    const read = [first, second, revise(third, [{ type: 'text', text: '2' }])];
    read.push(invent(third, user('(nobody)')));
    const reading = readingOf(read, nothingKnown, () => undefined);
    expect(readAgain([first, second], reading)).toEqual([first, second]);
  });
});

describe('lines that are damaged', () => {
  it('change nothing', () => {
    const said = [user('begin'), assistant('m1', 'one')];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('versions', 'additions', 'learnt', 'sent'), fc.jsonValue()),
        (line) => {
          const lines = new ReadingLines();
          lines.take({ type: 'read-as', ...line });
          expect(readAgain(said, lines.result)).toEqual(said);
        },
      ),
    );
  });
});
