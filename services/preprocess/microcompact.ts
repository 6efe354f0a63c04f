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
  /** The same for the same call; of reads only, for only they are looked for again. */
  readonly call: string;
  /** Its place among all results of the history … */
  readonly at: number;
  /** … and that of the first result of its round. */
  readonly roundAt: number;
  readonly message: LogMessage;
  readonly text: string | undefined;
}
/** Tokens, by what is known of sizes now: a process that goes on with the session decides the same. */
type SizeOf = (entry: Entry) => number;

/** Of a history: what a pass needs of it, and no more, so that it costs the same in a long one. */
interface Results {
  /**
   * What may still become shorter, the oldest first. They have not many more tokens than the bounds
   * above: else some would have become shorter.
   */
  readonly shrinkable: readonly Entry[];
  /** The last ones, so many as are kept and one more, whatever they are. */
  readonly latest: readonly Entry[];
  /** The newest of each read. */
  readonly reads: ReadonlyMap<string, Entry>;
}

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

const isLongOutput = ({ name, text = '' }: Entry) =>
  name === 'Bash' && text.length > OUTPUT_CHARS_MAX;
/** What was cleared is not there any more: it can neither free something nor be read again. */
const isRereadable = ({ name, text }: Entry) =>
  REREADABLE.has(name) && text !== CLEARED && text !== READ_AGAIN;

/** Results before this place are old enough: whole rounds of them. */
const oldUntil = (entries: readonly Entry[]): number =>
  entries.length > RESULTS_KEPT ? (entries.at(-RESULTS_KEPT)?.roundAt ?? 0) : 0;

/** What each old result becomes. Results with one text only; images are left to the API's count. */
const shorten = (
  { shrinkable, latest, reads }: Results,
  sizeOf: SizeOf,
): ReadonlyMap<Entry, string> => {
  const shorter = new Map<Entry, string>();
  const until = oldUntil(latest);
  for (const entry of shrinkable) {
    if (entry.at >= until) break;
    const again = entry.name === 'Read' ? reads.get(entry.call) : undefined;
    // Read answers "unchanged" to a second look: then the older result is the one with the content.
    const isReread = again !== undefined && again !== entry && sizeOf(again) >= sizeOf(entry) / 2;
    if (isReread) shorter.set(entry, READ_AGAIN);
    else if (isLongOutput(entry))
      shorter.set(entry, headAndTail(entry.text ?? '', OUTPUT_CHARS_MAX / 2));
  }
  const rereadable = shrinkable.filter((entry) => isRereadable(entry) && !shorter.has(entry));
  const tokens = rereadable.reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (tokens <= REREADABLE_TOKENS_MAX) return shorter;
  const clearedUntil = oldUntil(rereadable);
  for (const entry of rereadable) if (entry.at < clearedUntil) shorter.set(entry, CLEARED);
  return shorter;
};

/** Remembers the results of a history that grows: a pass costs what is new. */
function createResults(log: MessageLog): Results & { learn: (head: string) => void } {
  let looked = '';
  let count = 0;
  let shrinkable: Entry[] = [];
  let latest: Entry[] = [];
  let reads = new Map<string, Entry>();
  let calls = new Map<string, Pick<Entry, 'name' | 'call'> & { readonly round: string }>();
  let begins = new Map<string, number>();

  const add = (message: LogMessage) => {
    for (const { id, name, input } of callsOf(message)) {
      const call = name === 'Read' ? JSON.stringify(input) : '';
      calls.set(id, { name, call, round: message.apiId ?? message.uuid });
    }
    const [block] = resultsOf(message);
    const made = block && calls.get(block.tool_use_id);
    if (!made || block.is_error || message.content.length !== 1) return;
    const { name, call, round } = made;
    const roundAt = begins.get(round) ?? count;
    begins.set(round, roundAt);
    const id = block.tool_use_id;
    const entry = { id, name, call, at: count, roundAt, message, text: textOf(message) };
    count += 1;
    latest = [...latest, entry].slice(-RESULTS_KEPT - 1);
    if (name === 'Read') reads.set(call, entry);
    if (isRereadable(entry) || isLongOutput(entry)) shrinkable.push(entry);
  };
  const forget = () => {
    count = 0;
    [shrinkable, latest] = [[], []];
    [reads, calls, begins] = [new Map(), new Map(), new Map()];
  };
  return {
    get shrinkable() {
      return shrinkable;
    },
    get latest() {
      return latest;
    },
    get reads() {
      return reads;
    },
    learn: (head) => {
      const fresh = log.since(looked, head);
      const isOn = log.depthOf(looked) + fresh.length === log.depthOf(head);
      if (!isOn || looked === '') forget();
      for (const message of fresh) add(message);
      looked = head;
    },
  };
}

/** One for each history that grows. */
export function createMicrocompact({ log, counter, tell, onCleared }: MicrocompactDeps): Stage {
  const results = createResults(log);
  /** Up to here it was not worth it. */
  let declined = '';
  const sizeOf: SizeOf = ({ message }) => counter.estimateMessages([message]);

  return async (state, signal) => {
    const { history } = state;
    if (history.head === declined) return pass(state, signal);
    results.learn(history.head);
    const shorter = [...shorten(results, sizeOf)].filter(([entry]) => entry.text !== undefined);
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
    const ids = [...swaps.keys()].flatMap(({ toolUseId }) => toolUseId ?? []);
    onCleared(ids);
    const tokens = counter.estimate(head);
    tell({ type: 'contextEdit', stage: 'microcompact', tokensFreed: Math.floor(freed), ids });
    return { type: 'stage.done', history: { head, count, tokens }, usd: 0 };
  };
}
