/** What a session is about, found with a bounded look at it. */
import { messagesOf } from './records.ts';
import type { JournalRecord, JournalStore } from './store.ts';

/** Looked at from the end: enough for a title, and little enough for a list of a thousand. */
const RECORDS_MAX = 400;
const TITLE_CHARS_MAX = 80;

export interface Gist {
  /** What a person called it. */
  readonly customTitle: string | undefined;
  /** The newest prompt that a person has said. */
  readonly lastPrompt: string | undefined;
  /** Working folder. */
  readonly cwd: string | undefined;
  /** ISO 8601. */
  readonly createdAt: string | undefined;
  /** The last turn has a result. */
  readonly isFinished: boolean;
}

/** Reads the first record, and some of the last ones until all is known. */
export async function gistOf(store: JournalStore, sessionId: string): Promise<Gist> {
  const first = await store.first(sessionId);
  let customTitle: string | undefined;
  let lastPrompt: string | undefined;
  let isFinished: boolean | undefined;
  let count = 0;
  for await (const stored of store.readBack(sessionId)) {
    count += 1;
    if (count > RECORDS_MAX || (customTitle !== undefined && lastPrompt !== undefined)) break;
    if (stored.kind === 'damaged') continue;
    const { record } = stored;
    customTitle ??= titleIn(record);
    lastPrompt ??= promptIn(record);
    if (record.type === 'result') isFinished ??= record.leavesOpen !== true;
    else if (record.type === 'user' || record.type === 'assistant') isFinished ??= false;
  }
  return {
    customTitle,
    lastPrompt,
    cwd: text(first?.cwd),
    createdAt: text(first?.timestamp),
    isFinished: isFinished ?? true,
  };
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

function titleIn(record: JournalRecord): string | undefined {
  if (record.type === 'custom-title') return text(record.customTitle);
  return record.type === 'system' ? text(record.title) : undefined;
}

function promptIn(record: JournalRecord): string | undefined {
  if (record.type !== 'user' || record.isSidechain === true) return undefined;
  const [message] = messagesOf(record);
  if (message?.origin !== 'prompt' || message.isMeta) return undefined;
  const said = message.content.map((block) => (block.type === 'text' ? block.text : '')).join(' ');
  const line = said.replace(/\s+/g, ' ').trim();
  return line === '' ? undefined : line.slice(0, TITLE_CHARS_MAX);
}
