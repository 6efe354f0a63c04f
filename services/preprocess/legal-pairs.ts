/**
 * Rules about calls and results: S1, S2, S3 (ids), and the openers of server tools. A call keeps its
 * own result wherever it went astray; only a call that has none gets one of ours.
 */
import type { ContentBlock, LogMessage, ToolResultBlock, ToolUseBlock } from '../messages.ts';
import { invent, revise } from './revise.ts';
import { callsOf, isAnswer, type Round, resultsOf, roundsOf } from './rounds.ts';

type Note = (repair: string) => void;

/** What is said for a call whose result is nowhere. It may have run: the model must not guess. */
const UNKNOWN_OUTCOME =
  'There is no result of this call: it was interrupted, and its outcome is unknown. It may have ' +
  'run in part or in whole. Look at what is there before you repeat it.';

/** A block and where it stands. */
interface Place {
  readonly message: LogMessage;
  /** Index of its round. */
  readonly round: number;
  /** Index of its message in the history. */
  readonly at: number;
}
type Found = Place & { readonly block: ToolResultBlock };
type Called = Place & { readonly block: ToolUseBlock };
/** What becomes of a call. */
interface Verdict {
  /** Its id from now on. */
  readonly id: string;
  readonly answer: Found | undefined;
  readonly round: number;
}

/** All calls and results, in order. */
const findPairs = (rounds: readonly Round[]) => {
  const calls: Called[] = [];
  const results = new Map<string, Found[]>();
  let at = 0;
  rounds.forEach((round, index) => {
    for (const message of round.all) {
      for (const block of message.role === 'assistant' ? callsOf(message) : [])
        calls.push({ block, message, round: index, at });
      for (const block of message.role === 'user' ? resultsOf(message) : []) {
        const found = results.get(block.tool_use_id) ?? [];
        found.push({ block, message, round: index, at });
        results.set(block.tool_use_id, found);
      }
      at += 1;
    }
  });
  return { calls, results };
};

/** An id that nobody has: the old one as far as it is legal, and a number. */
const freshId = (id: unknown, isTaken: (id: string) => boolean) => {
  const base = String(id ?? '').replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
  if (base === id && !isTaken(base)) return base;
  for (let n = 2; ; n += 1) if (!isTaken(`${base}_${n}`)) return `${base}_${n}`;
};

/** Decides for each call which result is its own and which id it has. Changes nothing. */
const judgeCalls = (rounds: readonly Round[], isKnown: (id: string) => boolean, note: Note) => {
  const { calls, results } = findPairs(rounds);
  const verdicts = new Map<ToolUseBlock, Verdict>();
  const learned = new Set<string>();
  const isTaken = (id: string) => isKnown(id) || learned.has(id);
  const lastRoundOf = new Map<string, number>();
  const byId = new Map<string, Called[]>();
  for (const called of calls)
    byId.set(called.block.id, [...(byId.get(called.block.id) ?? []), called]);
  for (const { block, round, at } of calls) {
    if (lastRoundOf.get(block.id) === round) {
      note(`call ${block.id} stood twice in one answer: the second one was left out`);
      continue;
    }
    lastRoundOf.set(block.id, round);
    // A result after the next call of this id belongs to that one.
    const next = byId.get(block.id)?.find((other) => other.round > round);
    const mine = results.get(block.id) ?? [];
    const found = mine.findIndex((r) => r.at > at && r.at < (next?.at ?? Number.MAX_SAFE_INTEGER));
    const [answer] = found < 0 ? [] : mine.splice(found, 1);
    if (!answer) note(`call ${block.id} (${block.name}) had no result: its outcome is unknown`);
    else if (answer.round !== round) note(`the result of call ${block.id} was moved to its call`);
    const id = freshId(block.id, isTaken);
    if (id !== block.id)
      note(`call ${block.id} was renamed to ${id}: ids must be unique and legal`);
    learned.add(id);
    verdicts.set(block, { id, answer, round });
  }
  for (const [id, left] of results)
    for (const _ of left) note(`a result of call ${id}, which is not open there, was left out`);
  return { verdicts, learned };
};

/** A user message will stand between this round and the next: every call gets its answer there. */
const isHeard = (round: Round) =>
  round.said.some((message) => callsOf(message).length > 0) ||
  round.heard.some((message) => !isAnswer(message));

/** Blocks of the server's own tools whose other half is missing. */
const strayServerBlocks = (rounds: readonly Round[], isPaused: boolean, note: Note) => {
  const stray = new Set<ContentBlock>();
  let open = new Map<string, ContentBlock>();
  rounds.forEach((round, at) => {
    for (const block of round.said.flatMap((message) => message.content)) {
      if (block.type !== 'tool_use' && block.type.endsWith('tool_use') && 'id' in block) {
        const id = String(block.id);
        if (open.has(id)) {
          stray.add(block);
          note(`${block.type} ${id} stood twice: the second one was left out`);
        } else open.set(id, block);
      } else if (block.type.endsWith('_tool_result') && 'tool_use_id' in block) {
        if (!open.delete(String(block.tool_use_id))) {
          stray.add(block);
          note(`${block.type} without its call was left out`);
        }
      }
    }
    const isLast = at === rounds.length - 1;
    // The server answers in its next message, as long as nobody else has spoken.
    if (!isHeard(round) && (!isLast || isPaused)) return;
    for (const block of open.values()) {
      stray.add(block);
      note(`${block.type} was never answered by the server: left out`);
    }
    open = new Map();
  });
  return stray;
};

/** The message that carries a result which stood elsewhere. */
const carrier = ({ message, block }: Found, id: string): LogMessage =>
  message.content.length === 1 && id === block.tool_use_id
    ? message
    : {
        ...revise(message, [{ ...block, tool_use_id: id }], { toolUseId: id }),
        kind: 'tool_result',
      };

/** The answer that we give for a call whose own is lost. */
const inventAnswer = (call: LogMessage, id: string): LogMessage =>
  invent(call, {
    role: 'user',
    kind: 'tool_result',
    toolUseId: id,
    origin: 'repair',
    content: [{ type: 'tool_result', tool_use_id: id, content: UNKNOWN_OUTCOME, is_error: true }],
  });

/** A message without the blocks that go, and with new ids. */
const rewriteMessage = (
  message: LogMessage,
  keep: (block: ContentBlock) => ContentBlock | undefined,
): LogMessage | undefined => {
  const content = message.content.flatMap((block) => keep(block) ?? []);
  if (content.length === 0) return undefined;
  if (
    content.every((block, at) => block === message.content[at]) &&
    content.length === message.content.length
  )
    return message;
  const [only] = content;
  const id =
    only?.type === 'tool_use'
      ? only.id
      : only?.type === 'tool_result'
        ? only.tool_use_id
        : undefined;
  return revise(message, content, id === undefined ? {} : { toolUseId: id });
};

/** Answers are put where the round's calls and answers end, before notes and prompts. */
const insertAnswers = (messages: LogMessage[], answers: readonly LogMessage[]) => {
  const at = messages.findLastIndex((message) => message.role === 'assistant' || isAnswer(message));
  messages.splice(at + 1, 0, ...answers);
};

/** Rounds whose answer is thinking and nothing else: the API takes no message of that kind. */
const onlyThinks = (round: Round, stray: ReadonlySet<ContentBlock>) => {
  const blocks = round.said.flatMap((message) => message.content).filter((b) => !stray.has(b));
  return (
    blocks.length > 0 &&
    blocks.every((block) => block.type === 'thinking' || block.type === 'redacted_thinking')
  );
};

/**
 * Pairs calls and results. Messages must be legal in themselves.
 * @param isKnown ids that stand further up.
 * @param isPaused the last answer was paused by the server and goes back as it is.
 */
export const legalPairs = (
  messages: readonly LogMessage[],
  isKnown: (id: string) => boolean,
  isPaused: boolean,
  note: Note,
): { readonly messages: readonly LogMessage[]; readonly learned: ReadonlySet<string> } => {
  const rounds = roundsOf(messages);
  const { verdicts, learned } = judgeCalls(rounds, isKnown, note);
  const stray = strayServerBlocks(rounds, isPaused, note);
  const inPlace = new Map<ContentBlock, string>();
  for (const { answer, id, round } of verdicts.values())
    if (answer?.round === round) inPlace.set(answer.block, id);
  const keep = (block: ContentBlock): ContentBlock | undefined => {
    if (stray.has(block)) return undefined;
    if (block.type === 'tool_use') {
      const id = verdicts.get(block)?.id;
      if (id === undefined) return undefined;
      return id === block.id ? block : { ...block, id };
    }
    if (block.type !== 'tool_result') return block;
    const id = inPlace.get(block);
    if (id === undefined) return undefined;
    return id === block.tool_use_id ? block : { ...block, tool_use_id: id };
  };
  const out = rounds.flatMap((round, at) => {
    const answers: LogMessage[] = [];
    for (const message of round.said)
      for (const block of callsOf(message)) {
        const verdict = verdicts.get(block);
        if (!verdict || verdict.answer?.round === at) continue;
        const { answer, id } = verdict;
        answers.push(answer ? carrier(answer, id) : inventAnswer(message, id));
      }
    const isSilent = onlyThinks(round, stray) && !(isPaused && at === rounds.length - 1);
    if (isSilent) note('an answer of nothing but thinking was left out');
    const kept = (isSilent ? round.heard : round.all).flatMap(
      (message) => rewriteMessage(message, keep) ?? [],
    );
    if (answers.length > 0) insertAnswers(kept, answers);
    return kept;
  });
  return { messages: out, learned };
};
