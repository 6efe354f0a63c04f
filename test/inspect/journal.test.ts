/** An old session heard again: the same steps as when it ran; what does not fit is said. */
import { expect, it } from 'vitest';
import { MemoryJournalStore } from '../../services/journal/memory-store.ts';
import type { JournalRecord, JournalStore, StoredRecord } from '../../services/journal/store.ts';
import { runFromJournal } from '../../src/inspect/from-journal.ts';
import { LiveRun } from '../../src/inspect/live-run.ts';
import type { Entry, Step } from '../../src/inspect/protocol.ts';
import type { Run } from '../../src/inspect/run.ts';
import { callTool, overloaded, say } from '../../src/testing/replies.ts';
import { tell } from '../tools/story.ts';

const entriesOf = ({ list }: Run): readonly Entry[] =>
  list.from(0, Number.MAX_SAFE_INTEGER).map(({ json }) => JSON.parse(json) as Entry);
const stepsOf = (run: Run): readonly Step[] =>
  entriesOf(run).filter((entry): entry is Step => entry.kind === 'step');
const notesOf = (run: Run): readonly string[] =>
  entriesOf(run).flatMap((entry) => (entry.kind === 'note' ? entry.text : []));
const wayOf = ({ event, from, to, edges, actions, reason, diff }: Step) => ({
  ...{ event, from, to, edges, actions, reason },
  changed: diff.map(({ op, path }) => [op, ...path].join('.')),
});

async function recordsOf(store: JournalStore, id: string): Promise<readonly JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const stored of store.readBack(id)) {
    if (stored.kind === 'record') records.unshift(stored.record);
  }
  return records;
}
/** A store with these lines and nothing else. */
const storeOf = (records: readonly JournalRecord[]) =>
  ({
    async *readBack(): AsyncGenerator<StoredRecord, void> {
      for (const record of records.toReversed()) yield { kind: 'record', record };
    },
  }) as unknown as JournalStore;

async function session() {
  const journal = new MemoryJournalStore();
  const live = new LiveRun({ title: 'live' });
  let sessionId = '';
  await tell({
    script: {
      replies: [
        overloaded(),
        callTool('Task', { description: 'look', prompt: 'look around', subagent_type: 'explore' }),
        say('I have looked.'),
        callTool('Bash', { command: 'true' }),
        say('Done.'),
        say('Again.'),
      ],
    },
    prompts: ['do it', 'and again'],
    config: () => ({ journal }),
    begin: (engine) => {
      sessionId = engine.sessionId;
      engine.observe(live.observe);
    },
  });
  return { live, journal, sessionId };
}

it('the same steps, edges, reasons and changes as when it ran, agents included', async () => {
  const { live, journal, sessionId } = await session();
  const again = await runFromJournal({ store: journal, sessionId });
  expect(notesOf(again)).toEqual([]);
  const instances = [...new Set(stepsOf(live).map(({ instance }) => instance))];
  expect(instances.length).toBe(3);
  for (const instance of instances) {
    const mine = (run: Run) => stepsOf(run).filter((step) => step.instance === instance);
    expect(mine(again).map(wayOf)).toEqual(mine(live).map(wayOf));
  }
  const agent = entriesOf(again).find(
    (entry) => entry.kind === 'instance' && entry.role === 'agent',
  );
  expect(agent).toMatchObject({ title: 'look', parent: instances[0] });
  const answers = entriesOf(again).filter((entry) => entry.kind === 'answer');
  expect(answers.length).toBe(5);
  const request = again.piece({ what: 'request', id: 'usage-1' }, []);
  expect(request.missing).toContain('not known');
  expect(again.hello().unknown.join()).toContain('bodies of requests');
});

it('says where the lines do not fit the chart, and goes no further', async () => {
  const { journal, sessionId } = await session();
  const records = await recordsOf(journal, sessionId);
  const isEvent = ({ type, event }: JournalRecord, name: string) =>
    type === 'event' && (event as { type: string }).type === name;
  const at = records.findIndex((record) => isEvent(record, 'xstate.done.actor.legalize'));
  const lost = records.toSpliced(at, 1);
  const cut = await runFromJournal({ store: storeOf(lost), sessionId });
  expect(notesOf(cut)).toEqual([
    expect.stringMatching(/^line \d+ does not fit the chart: event \d+ is missing/),
  ]);
  // The same, but whoever has cut it has numbered the rest anew: the chart itself disagrees.
  let n = 0;
  const other = records[at]?.queryId;
  const renumbered = lost.map((record) =>
    record.type === 'event' && record.queryId === other ? { ...record, n: n++ } : record,
  );
  const disagreed = await runFromJournal({ store: storeOf(renumbered), sessionId });
  expect(notesOf(disagreed)[0]).toMatch(
    /^line \d+ does not fit the chart: (the chart does not wait for|it went on)/,
  );
  expect(stepsOf(disagreed).length).toBeGreaterThan(5);
  // The second turn is another query: it is whole.
  expect(stepsOf(disagreed).at(-1)?.reason).toBe('completed');
});

it('a session that a crash has cut ends where its lines end', async () => {
  const { journal, sessionId } = await session();
  const records = await recordsOf(journal, sessionId);
  const half = records.slice(0, records.findLastIndex(({ type }) => type === 'event') - 3);
  const run = await runFromJournal({ store: storeOf(half), sessionId });
  expect(notesOf(run)).toEqual(['the lines end before the query does']);
});
