/**
 * Makes old tool results shorter without a model: long outputs of commands lose their middle, all
 * but the newest of identical reads go, and once there is much to read again, the oldest go too.
 */
import type { MessageLog } from '../message-log.ts';
import type { LogMessage } from '../messages.ts';
import { headAndTail } from '../tools/text/head-and-tail.ts';
import { revise } from './revise.ts';
import { callsOf, resultsOf } from './rounds.ts';
import { pass, type Stage, type Tell } from './stage.ts';
import type { TokenCounter } from './token-count.ts';
import { unbindThinking } from './unbind-thinking.ts';

export interface MicrocompactDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly tell: Tell;
  /** Calls whose results the model does not see any more: Read must show them again. */
  readonly onCleared: (toolUseIds: readonly string[]) => void;
}

/** Their results can be had again at any time. */
export const REREADABLE: ReadonlySet<string> = new Set(['Read', 'Grep', 'Glob', 'WebFetch']);
/**
 * The newest results are what the model works with: so many, and the rest of their round as well, so
 * that a change ends where a request has ended, and the prompt cache finds what comes before.
 */
export const RESULTS_KEPT = 5;
/** An old command output above this is cut to its head and tail. */
const OUTPUT_CHARS_MAX = 10_000;
/** Below this there is room enough for results to stay. */
const REREADABLE_TOKENS_MAX = 40_000;
/** Every change costs the cache of all that comes after it: less than this is not worth it. */
const FREED_TOKENS_MIN = 20_000;

const CLEARED = '(This result was cleared to save room. Make the call again if you need it.)';
const READ_AGAIN = '(Read again later: the newest result is further down.)';

interface Entry {
  readonly id: string;
  readonly name: string;
  /** The same for the same call. */
  readonly call: string;
  /** Of the answer that has made the call. */
  readonly round: string;
  readonly message: LogMessage;
  readonly text: string | undefined;
}
/** Tokens, by what is known of sizes now: a process that goes on with the session decides the same. */
type SizeOf = (entry: Entry) => number;

const textOf = (message: LogMessage) => {
  const [block] = resultsOf(message);
  const content = block?.content;
  if (typeof content === 'string') return content;
  const [only, more] = content ?? [];
  return only?.type === 'text' && more === undefined ? only.text : undefined;
};
const withText = (message: LogMessage, text: string) =>
  revise(
    message,
    message.content.map((block) =>
      block.type === 'tool_result' ? { ...block, content: text } : block,
    ),
  );

/** Tokens that a shorter text frees, without making the message yet. */
const freedBy = (entry: Entry, shorter: string, sizeOf: SizeOf) =>
  Math.max(0, sizeOf(entry) * (1 - shorter.length / Math.max(1, entry.text?.length ?? 0)));

/** The results that are old enough: whole rounds of them. */
const oldOf = (entries: readonly Entry[]) => {
  const oldestKept = entries.at(-RESULTS_KEPT);
  if (!oldestKept || entries.length <= RESULTS_KEPT) return [];
  return entries.slice(
    0,
    entries.findIndex((entry) => entry.round === oldestKept.round),
  );
};

/** What each old result becomes. Results with one text only; images are left to the API's count. */
const shorten = (entries: readonly Entry[], sizeOf: SizeOf): ReadonlyMap<Entry, string> => {
  const shorter = new Map<Entry, string>();
  const old = oldOf(entries);
  const newest = new Map(entries.map((entry) => [entry.call, entry]));
  for (const entry of old) {
    const again = newest.get(entry.call);
    // Read answers "unchanged" to a second look: then the older result is the one with the content.
    const isReread =
      entry.name === 'Read' &&
      again !== undefined &&
      again !== entry &&
      sizeOf(again) >= sizeOf(entry) / 2;
    if (isReread) shorter.set(entry, READ_AGAIN);
    else if (entry.name === 'Bash' && (entry.text?.length ?? 0) > OUTPUT_CHARS_MAX)
      shorter.set(entry, headAndTail(entry.text ?? '', OUTPUT_CHARS_MAX / 2));
  }
  const rereadable = entries.filter((entry) => REREADABLE.has(entry.name) && !shorter.has(entry));
  const tokens = rereadable.reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (tokens <= REREADABLE_TOKENS_MAX) return shorter;
  for (const entry of oldOf(rereadable))
    if (entry.text !== CLEARED && entry.text !== READ_AGAIN) shorter.set(entry, CLEARED);
  return shorter;
};

/** One for each history that grows: it remembers its results, and costs what is new. */
export function createMicrocompact({ log, counter, tell, onCleared }: MicrocompactDeps): Stage {
  let looked = '';
  /** Up to here it was not worth it. */
  let declined = '';
  let entries: Entry[] = [];
  let calls = new Map<string, Pick<Entry, 'name' | 'call' | 'round'>>();
  const sizeOf: SizeOf = ({ message }) => counter.estimateMessages([message]);

  const learn = (head: string) => {
    const fresh = log.since(looked, head);
    const isOn = log.depthOf(looked) + fresh.length === log.depthOf(head);
    if (!isOn || looked === '') {
      entries = [];
      calls = new Map();
    }
    for (const message of fresh) {
      for (const { id, name, input } of callsOf(message))
        calls.set(id, {
          name,
          call: `${name} ${JSON.stringify(input)}`,
          round: message.apiId ?? message.uuid,
        });
      const [block] = resultsOf(message);
      const made = block && calls.get(block.tool_use_id);
      if (!made || block.is_error || message.content.length !== 1) continue;
      entries.push({ id: block.tool_use_id, ...made, message, text: textOf(message) });
    }
    looked = head;
  };

  return async (state, signal) => {
    const { history } = state;
    if (history.head === declined) return pass(state, signal);
    learn(history.head);
    const shorter = [...shorten(entries, sizeOf)].filter(([entry]) => entry.text !== undefined);
    const freed = shorter.reduce((sum, [entry, text]) => sum + freedBy(entry, text, sizeOf), 0);
    if (freed < FREED_TOKENS_MIN) {
      declined = history.head;
      return pass(state, signal);
    }
    const swaps = new Map(
      shorter.map(([entry, text]) => [entry.message, withText(entry.message, text)]),
    );
    const before = log.at(history.head);
    const messages = before.map((message) => swaps.get(message) ?? message);
    const changed = before.findIndex((message) => swaps.has(message));
    const { head, count } = log.rewriteFrom(history.head, unbindThinking(messages, changed), 0);
    counter.noteRewrite(history.head, head);
    looked = '';
    const ids = [...swaps.keys()].flatMap(({ toolUseId }) => toolUseId ?? []);
    onCleared(ids);
    const tokens = counter.estimate(head);
    tell({ type: 'contextEdit', stage: 'microcompact', tokensFreed: Math.floor(freed), ids });
    return { type: 'stage.done', history: { head, count, tokens }, usd: 0 };
  };
}
