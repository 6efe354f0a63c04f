/** What the work needs beside a summary: open todos, the files that were at hand, active skills. */
import type { LogMessage } from '../messages.ts';
import { callsOf } from '../preprocess/rounds.ts';
import { isUtf8 } from '../tools/files/encoding.ts';
import type { FileState, SeenFile } from '../tools/files/file-state.ts';
import { openRegular, readWhole } from '../tools/files/open-regular.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { amount } from '../tools/text/amounts.ts';
import type { Todo } from '../tools/todos.ts';

export interface ReattachRequest {
  /** The rounds that stay word for word. */
  readonly kept: readonly LogMessage[];
  /** For everything together: in a small window files would fill what the summary has freed. */
  readonly tokensMax: number;
  readonly signal: AbortSignal;
}
/** *Contract:* never throws; leaves out what the kept messages show anyway. */
export type Reattach = (request: ReattachRequest) => Promise<readonly LogMessage[]>;

export interface ReattachDeps {
  readonly files: () => FileState;
  readonly todos: () => readonly Todo[];
  /** Text of the skills that are in use. */
  readonly skills?: () => readonly string[];
  readonly uuid: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const FILES_MAX = 5;
const FILE_TOKENS_MAX = 5_000;
/** Bytes of a token, as the counter begins with. */
const CHARS_PER_TOKEN = 3;
/** A file of which so little would be shown is better read again. */
const FILE_BYTES_MAX = 1024 * 1024;

const todoText = (todos: readonly Todo[]) => {
  const lines = todos.map(({ status, content }) => `- [${status}] ${content}`);
  return `Your todo list, as it stands:\n${lines.join('\n')}`;
};

/** Paths that some call of the kept rounds names: their results are still there. */
const pathsIn = (kept: readonly LogMessage[]) => {
  const inputs = kept.flatMap(callsOf).map(({ input }) => input);
  return new Set(
    inputs.flatMap((input) =>
      typeof input === 'object' && input !== null && 'file_path' in input
        ? [String(input.file_path)]
        : [],
    ),
  );
};

/** The file as it is now, cut where it is too long; `undefined` when it is no text, or gone. */
const fileText = async (file: SeenFile, charsMax: number, signal: AbortSignal) => {
  const opened = await openRegular(file.realPath);
  if (!opened.ok) return undefined;
  const { handle } = opened.value;
  try {
    const read = await readWhole(handle, FILE_BYTES_MAX, file.path, signal);
    if (!read.ok || read.value.includes(0) || !isUtf8(read.value, true)) return undefined;
    const text = read.value.toString('utf8');
    const shown = clipEnd(text, charsMax);
    const rest =
      shown.length === text.length
        ? ''
        : `\n[… ${amount(text.length - shown.length)} more characters: read the file for them]`;
    return `${file.path}, as it is now:\n\n${shown}${rest}`;
  } catch {
    return undefined; // gone or unreadable by now: the model can still read it by itself
  } finally {
    await handle.close().catch(() => {});
  }
};

/**
 * Newest files first, as long as there is room. What Read has shown before counts as not shown any
 * more, so that it does not answer "unchanged".
 */
export function createReattach(deps: ReattachDeps): Reattach {
  const note = (text: string): LogMessage => ({
    uuid: deps.uuid(),
    timestamp: new Date(deps.now()).toISOString(),
    role: 'user',
    kind: 'note',
    origin: 'attachment',
    isMeta: true,
    content: [{ type: 'text', text }],
  });
  return async ({ kept, tokensMax, signal }) => {
    const todos = deps.todos();
    const skills = deps.skills?.() ?? [];
    const isOpen = todos.some(({ status }) => status !== 'completed');
    const texts = [...(isOpen ? [todoText(todos)] : []), ...skills];
    let roomChars = tokensMax * CHARS_PER_TOKEN - texts.reduce((sum, text) => sum + text.length, 0);
    const shown = pathsIn(kept);
    deps.files().forgetShown();
    for (const file of deps.files().recent(FILES_MAX)) {
      if (signal.aborted || roomChars <= 0) break;
      if (shown.has(file.path)) continue;
      const charsMax = Math.min(FILE_TOKENS_MAX * CHARS_PER_TOKEN, roomChars);
      const text = await fileText(file, charsMax, signal);
      if (text === undefined) continue;
      texts.push(text);
      roomChars -= text.length;
    }
    return texts.map(note);
  };
}
