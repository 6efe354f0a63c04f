/** The sessions of a folder: what hosts show in a list, and do with an entry of it. */
import { FileJournalStore } from '../services/journal/file-store.ts';
import { gistOf } from '../services/journal/gist.ts';
import { restore } from '../services/journal/restore.ts';
import { isSessionId, type JournalStore, type StoredSession } from '../services/journal/store.ts';
import { projectFolder } from '../services/journal/transcript.ts';
import type { LogMessage } from '../services/messages.ts';
import { engineHomeOf } from './home-folders.ts';
import { realFolder, workingFolder } from './real-folder.ts';
import { UsageError } from './usage-error.ts';

/** Where to look. Default: files of this folder below `~/.escapement`. */
export interface SessionsPlace {
  /** Working folder. Default: the process's. */
  readonly cwd?: string;
  /** Default: `$ESCAPEMENT_HOME`, else `~/.escapement`. */
  readonly home?: string;
  readonly store?: JournalStore;
}

export interface SessionInfo {
  readonly sessionId: string;
  /** What a person called it, else the newest prompt. */
  readonly title: string;
  readonly cwd: string | undefined;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
  readonly createdAt: string | undefined;
  readonly sizeBytes: number;
  /** The last turn came to its result. */
  readonly isFinished: boolean;
}

export interface SessionDetails extends SessionInfo {
  /** Messages that a resumed session would begin with. */
  readonly messageCount: number;
  readonly models: readonly string[];
  readonly damagedLines: number;
}

/** More at once would only be a list that nobody reads. */
const LIST_MAX = 100;

/** Newest first. Costs a look at each entry that is returned, not at their length. */
export async function listSessions(
  place: SessionsPlace & { readonly limit?: number } = {},
): Promise<readonly SessionInfo[]> {
  const store = storeOf(place);
  const all = [...(await store.list())].sort((a, b) => b.modifiedMs - a.modifiedMs);
  return Promise.all(all.slice(0, place.limit ?? LIST_MAX).map((one) => infoOf(store, one)));
}

/** @returns `undefined` when there is no such session. */
export async function getSessionInfo(
  sessionId: string,
  place: SessionsPlace = {},
): Promise<SessionDetails | undefined> {
  const store = storeOf(place);
  const entry = (await store.list()).find((one) => one.sessionId === sessionId);
  const restored = entry && (await restore(store, sessionId));
  if (!entry || !restored) return undefined;
  return {
    ...(await infoOf(store, entry)),
    messageCount: restored.messages.length,
    models: Object.keys(restored.totals),
    damagedLines: restored.damagedLines,
  };
}

/** @throws SessionInUseError, and UsageError when there is no such session. */
export async function renameSession(
  sessionId: string,
  title: string,
  place: SessionsPlace = {},
): Promise<void> {
  const customTitle = title.replace(/\s+/g, ' ').trim();
  if (customTitle === '') throw new UsageError('a session needs a title with at least one letter');
  const store = storeOf(place);
  await mustBeThere(store, sessionId);
  const writer = await store.open(sessionId);
  try {
    writer.append({
      ...{ type: 'custom-title', sessionId, customTitle },
      timestamp: new Date().toISOString(),
    });
    await writer.commit();
  } finally {
    await writer.close();
  }
}

/** With its long results and old versions of files. @returns whether there was one. */
export async function deleteSession(
  sessionId: string,
  place: SessionsPlace = {},
): Promise<boolean> {
  if (!isSessionId(sessionId)) throw new UsageError(`${sessionId} is no session id`);
  return storeOf(place).delete(sessionId);
}

/** The conversation as a resumed session would see it, for people or for programs. */
export async function exportSession(
  sessionId: string,
  options: SessionsPlace & { readonly format?: 'markdown' | 'json' } = {},
): Promise<string> {
  const store = storeOf(options);
  await mustBeThere(store, sessionId);
  const restored = await restore(store, sessionId);
  const messages = restored?.messages ?? [];
  if (options.format === 'json') return `${JSON.stringify({ sessionId, messages }, null, 2)}\n`;
  return `${messages.map(markdownOf).filter(Boolean).join('\n\n')}\n`;
}

function storeOf({ cwd, home, store }: SessionsPlace): JournalStore {
  if (store) return store;
  const root = home ?? engineHomeOf(process.env);
  return new FileJournalStore({ folder: projectFolder(root, realFolder(cwd ?? workingFolder())) });
}

async function mustBeThere(store: JournalStore, sessionId: string): Promise<void> {
  const isThere =
    isSessionId(sessionId) && (await store.list()).some((one) => one.sessionId === sessionId);
  if (!isThere) throw new UsageError(`there is no session ${sessionId} in this folder`);
}

async function infoOf(store: JournalStore, entry: StoredSession): Promise<SessionInfo> {
  const { customTitle, lastPrompt, cwd, createdAt, isFinished } = await gistOf(
    store,
    entry.sessionId,
  );
  const title = customTitle ?? lastPrompt ?? '(no prompt)';
  return { ...entry, title, cwd, createdAt, isFinished };
}

function markdownOf({ content, origin }: LogMessage): string {
  return content
    .map((block) => {
      switch (block.type) {
        case 'text':
          return `**${origin}**\n\n${block.text}`;
        case 'tool_use':
          return `**${block.name}**\n\n${fenced(JSON.stringify(block.input, null, 2))}`;
        case 'tool_result':
          return [
            `**result${block.is_error ? ' (error)' : ''}**`,
            fenced(resultText(block.content)),
          ].join('\n\n');
        case 'thinking':
        case 'redacted_thinking':
          return '';
        default:
          return `**[${block.type}]**`;
      }
    })
    .filter((part) => part !== '')
    .join('\n\n');
}

/** A fence that nothing in the text can close. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { type: string; text?: string }) => part.text ?? `[${part.type}]`)
    .join('\n');
}
