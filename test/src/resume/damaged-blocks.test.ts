/** A line that is JSON and yet no message: it is left out and told, and the session goes on. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FileJournalStore } from '../../../services/journal/file-store.ts';
import { soundBlocks } from '../../../services/journal/sound-blocks.ts';
import { runFromJournal } from '../../../src/inspect/from-journal.ts';
import { callTool, say } from '../../../src/testing/index.ts';
import { conversationOf, linesOf, openPlace } from './kit.ts';

let place: ReturnType<typeof openPlace>;
beforeEach(() => {
  place = openPlace();
});
afterEach(() => place.close());

const folder = () => join(place.home, 'projects', place.cwd.replace(/[^a-zA-Z0-9]/g, '-'));
const warningsOf = ({ lines }: { readonly lines: readonly string[] }) =>
  lines.filter((line) => line.startsWith('warning Resumed session'));
const block = (count: number) =>
  `warning Resumed session: ${count} damaged block(s) were skipped; they are left as they are.`;
const line = 'warning Resumed session: 1 damaged line(s) were skipped; they are left as they are.';

/** A session with `say('a')` in it, and then this line. */
async function sessionWith(added: Readonly<Record<string, unknown>>): Promise<string> {
  const { sessionId } = await place.run({ script: { replies: [say('a')] } });
  const lines = linesOf(place.home, sessionId);
  const last = lines.findLast(({ type }) => type === 'assistant');
  const stamp = { timestamp: last?.timestamp, sessionId, isSidechain: false };
  const record = { ...stamp, uuid: 'bad', parentUuid: last?.uuid, ...added };
  appendFileSync(join(folder(), `${sessionId}.jsonl`), `${JSON.stringify(record)}\n`);
  return sessionId;
}

const said = (type: 'user' | 'assistant', content: unknown) => ({
  type,
  message: { role: type, id: 'msg_bad', content },
});
const call = { type: 'tool_use', id: 'toolu_x', name: 'Read', input: {} };
const result = { type: 'tool_result', tool_use_id: 'toolu_x' };
const words = { type: 'text', text: 'kept' };

const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ['a call of nothing', said('assistant', [{ type: 'tool_use' }]), block(1)],
  ['a call by a number', said('assistant', [{ ...call, name: 3 }]), block(1)],
  ['a call without an id', said('assistant', [{ ...call, id: null }]), block(1)],
  ['a call with words for an input', said('assistant', [{ ...call, input: 'x' }]), block(1)],
  ['an answer to nothing', said('user', [{ type: 'tool_result' }]), block(1)],
  ['an answer that is a number', said('user', [{ ...result, content: 7 }]), block(1)],
  ['an answer of nothing', said('user', [{ ...result, content: [null] }]), block(1)],
  [
    'an answer with a damaged part',
    said('user', [{ ...result, content: [{ type: 'text' }] }]),
    block(1),
  ],
  ['text without text', said('assistant', [{ type: 'text' }]), block(1)],
  ['a prompt without text', said('user', [{ type: 'text' }]), block(1)],
  ['text that is a number', said('user', [{ type: 'text', text: 5 }]), block(1)],
  ['thinking of nothing', said('assistant', [{ type: 'thinking' }]), block(1)],
  [
    'thinking without a signature',
    said('assistant', [{ type: 'thinking', thinking: 'x' }]),
    block(1),
  ],
  ['redacted thinking of nothing', said('assistant', [{ type: 'redacted_thinking' }]), block(1)],
  ['an image of nothing', said('user', [{ type: 'image', source: null }]), block(1)],
  ['a document of nothing', said('user', [{ type: 'document' }]), block(1)],
  ['no blocks at all', said('user', [null, 4, {}]), block(3)],
  ['content that is a number', said('user', 5), line],
  ['content that is one block', said('assistant', {}), line],
  ['no message', { type: 'user' }, line],
  ...[null, -1, {}, 'x', []].map(
    (message) => [`message ${JSON.stringify(message)}`, { type: 'user', message }, line] as const,
  ),
  [
    'a summary with a history of nothing',
    { type: 'system', subtype: 'compact_boundary', parentUuid: null, history: [null, 3, {}] },
    block(3),
  ],
  [
    'a prompt in line that is none',
    { type: 'queue-operation', operation: 'enqueue', message: { content: 5 } },
    block(1),
  ],
  ['a new wording that is none', { type: 'amended', message: { content: [{}] } }, block(1)],
  ['a cut of nothing', { type: 'snip', dropped: [3], boundary: {} }, block(1)],
];

it.each(cases)('%s: told, and the session goes on', async (_name, added, warning) => {
  const sessionId = await sessionWith(added);
  const again = await place.run({
    script: { replies: [say('b')] },
    prompts: ['more'],
    options: { resume: sessionId },
  });
  expect(again.last).toMatchObject({ subtype: 'success', terminal_reason: 'completed' });
  expect(warningsOf(again)).toEqual([warning]);
  expect(conversationOf(again.requests[0]).at(-1)).toBe('user: more');
  const run = await runFromJournal({
    store: new FileJournalStore({ folder: folder() }),
    sessionId,
  });
  // Of lines of other kinds the inspector reads no messages.
  if ('message' in added && (added.type === 'user' || added.type === 'assistant')) {
    expect(run.hello().unknown.join('\n')).toMatch(/1 damaged lines|[13] damaged blocks/);
  }
});

it('what is sound beside it stays', async () => {
  const sessionId = await sessionWith(
    said('assistant', [{ type: 'text' }, words, { ...call, name: 3 }]),
  );
  const again = await place.run({
    script: { replies: [say('b')] },
    prompts: ['more'],
    options: { resume: sessionId },
  });
  expect(conversationOf(again.requests[0])).toEqual([
    'user: do it',
    'assistant: a',
    'assistant: kept',
    'user: more',
  ]);
  expect(warningsOf(again)).toEqual([block(2)]);
});

it.each([
  ['call', 'tool_use', 'name'],
  ['answer', 'tool_result', 'tool_use_id'],
])('the other half of a damaged %s is mended: the request is legal', async (_, kind, field) => {
  const replies = [callTool('Bash', { command: 'true' }), say('ran')];
  const { sessionId } = await place.run({ script: { replies } });
  const path = join(folder(), `${sessionId}.jsonl`);
  const spoil = (key: string, value: unknown) =>
    key === 'content' && Array.isArray(value)
      ? value.map((one) => (one?.type === kind ? { ...one, [field]: 3 } : one))
      : value;
  const lines = linesOf(place.home, sessionId).map((one) => JSON.stringify(one, spoil));
  writeFileSync(path, `${lines.join('\n')}\n`);
  const again = await place.run({
    script: { replies: [say('b')] },
    prompts: ['more'],
    options: { resume: sessionId },
  });
  expect(again.last).toMatchObject({ terminal_reason: 'completed' });
  expect(warningsOf(again)).toEqual([block(1)]);
});

it('blocks of kinds that we do not know pass untouched', () => {
  const unknown = [{ type: 'server_tool_use', name: 4 }, { type: 'of tomorrow' }];
  expect(soundBlocks(unknown)).toEqual({ blocks: unknown, damaged: 0 });
});
