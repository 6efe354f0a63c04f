/** Results that are too big go to files of the session; the model gets the path and the beginning. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import type { MessageLog } from '../message-log.ts';
import { messageOf } from '../message-of.ts';
import type { LogMessage, ToolResultBlock } from '../messages.ts';
import { RESULT_CHARS_MAX } from '../tools/define-tool.ts';
import { charsLeftOut } from '../tools/executor/presentable.ts';
import { clipEnd } from '../tools/process/clip.ts';
import { amount } from '../tools/text/amounts.ts';
import type { Tool } from '../tools/tool.ts';
import { revise } from './revise.ts';
import { callsOf, resultsOf, roundsOf } from './rounds.ts';
import type { Stage, StageDone, Tell } from './stage.ts';
import type { TokenCounter } from './token-count.ts';

/** A decision to take a result out. Recorded, so that a resumed session decides the same again. */
export interface Replacement {
  readonly toolUseId: string;
  /** Of the whole result: another result under the same id is another decision. */
  readonly chars: number;
  /** What the model reads instead. */
  readonly text: string;
  /** The whole result; `undefined` when it could not be written. */
  readonly path: string | undefined;
}
/** Decisions by tool_use_id. Made once: what was sent whole is never taken back, nor the reverse. */
export interface ContentReplacementState {
  readonly seen: Set<string>;
  readonly replaced: Map<string, Replacement>;
}
/** @param replaced what a resumed session has recorded. @param seen ids of all its results. */
export const contentReplacementState = (
  replaced: readonly Replacement[] = [],
  seen: readonly string[] = [],
): ContentReplacementState => ({
  seen: new Set([...seen, ...replaced.map(({ toolUseId }) => toolUseId)]),
  replaced: new Map(replaced.map((record) => [record.toolUseId, record])),
});

export interface ToolResultBudgetDeps {
  readonly log: MessageLog;
  readonly counter: TokenCounter;
  readonly tools: () => readonly Tool[];
  /** Folder of the session for results; made on first use, 0700. */
  readonly folder: string;
  readonly state: ContentReplacementState;
  /** For the transcript of this agent (not of its parent). */
  readonly onReplaced: (record: Replacement) => void;
  readonly tell: Tell;
  /** Results of one round together, characters. */
  readonly roundCharsMax?: number;
}

/** What one round may add: about a third of the smallest window that is in use. */
const ROUND_CHARS_MAX = 200_000;
/** Enough to see what it is. */
const PREVIEW_CHARS = 2_000;

interface Result {
  readonly message: LogMessage;
  readonly block: ToolResultBlock;
  readonly chars: number;
  /** The tool's own bound; `Infinity`: exempt. */
  readonly charsMax: number;
}

const textOf = ({ content = '' }: ToolResultBlock) =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

/** Picks what goes: all that are too big by themselves, then the largest until the rest fits. */
const choose = (results: readonly Result[], roundCharsMax: number): readonly Result[] => {
  const mayGo = results.filter(({ charsMax }) => Number.isFinite(charsMax));
  const going = new Set(mayGo.filter(({ chars, charsMax }) => chars > charsMax));
  const rest = mayGo.filter((result) => !going.has(result)).sort((a, b) => b.chars - a.chars);
  let total = rest.reduce((sum, { chars }) => sum + chars, 0);
  for (const result of rest) {
    // One that is hardly longer than its preview frees nothing.
    if (total <= roundCharsMax || result.chars <= 2 * PREVIEW_CHARS) break;
    going.add(result);
    total -= result.chars;
  }
  return results.filter((result) => going.has(result));
};

/** The whole result as a file that only this user can read. @returns why not, when not. */
const save = async (folder: string, toolUseId: string, text: string) => {
  const path = join(folder, `${toolUseId.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 80)}.txt`);
  try {
    makeFolder(folder, 0o700);
    await writeFile(path, text, { mode: 0o600 });
    return { path, problem: '' };
  } catch (error) {
    return { path: undefined, problem: messageOf(error) };
  }
};

const replacementText = (text: string, path: string | undefined) => {
  const missing = charsLeftOut(text);
  const kept = missing > 0 ? 'As much of it as was kept' : 'All of it';
  const where =
    path === undefined
      ? 'The rest of it could not be saved.'
      : `${kept} is in the file ${path}: read a part of it (offset, limit) or search in it.`;
  const lost = missing > 0 ? `, and ${amount(missing)} more were left out` : '';
  return (
    `The result has ${amount(text.length)} characters, too many to show here${lost}. ${where} ` +
    `It begins:\n\n${clipEnd(text, PREVIEW_CHARS)}\n[… cut here]`
  );
};

/** The message with the text of one result replaced; images in it stay. */
const replaceText = (message: LogMessage, toolUseId: string, text: string): LogMessage =>
  revise(
    message,
    message.content.map((block) => {
      if (block.type !== 'tool_result' || block.tool_use_id !== toolUseId) return block;
      const media =
        typeof block.content === 'object' ? block.content.filter((b) => b.type !== 'text') : [];
      return media.length === 0
        ? { ...block, content: text }
        : { ...block, content: [{ type: 'text', text }, ...media] };
    }),
  );

/** One for each history that grows. Looks only at what is new, and decides once for each result. */
export function createToolResultBudget(deps: ToolResultBudgetDeps): Stage {
  const { log, counter, state, tell } = deps;
  const roundCharsMax = deps.roundCharsMax ?? ROUND_CHARS_MAX;
  let looked = '';

  const resultsIn = (fresh: readonly LogMessage[]) => {
    const bounds = new Map(deps.tools().map((tool) => [tool.name, tool.maxResultSizeChars]));
    return roundsOf(fresh).map(({ said, heard }) => {
      const names = new Map(said.flatMap(callsOf).map(({ id, name }) => [id, name]));
      return heard.flatMap((message) =>
        resultsOf(message).map((block): Result => {
          const name = names.get(block.tool_use_id) ?? '';
          const charsMax = bounds.get(name) ?? RESULT_CHARS_MAX; // also of a tool that is gone
          return { message, block, chars: textOf(block).length, charsMax };
        }),
      );
    });
  };

  const decided = (block: ToolResultBlock) => {
    const known = state.replaced.get(block.tool_use_id);
    return known?.chars === textOf(block).length ? known : undefined;
  };

  const decide = async ({ block }: Result): Promise<Replacement> => {
    const text = textOf(block);
    const known = decided(block);
    if (known) return known;
    const { path, problem } = await save(deps.folder, block.tool_use_id, text);
    if (path === undefined)
      tell({ type: 'warning', text: `a long tool result could not be saved: ${problem}` });
    const record: Replacement = {
      toolUseId: block.tool_use_id,
      chars: text.length,
      text: replacementText(text, path),
      path,
    };
    state.replaced.set(record.toolUseId, record);
    deps.onReplaced(record);
    return record;
  };

  /** What goes out of a round: decided before, or now. */
  const goingOf = (results: readonly Result[]) => {
    const before = results.filter(({ block }) => decided(block) !== undefined);
    const open = results.filter(({ block }) => !state.seen.has(block.tool_use_id));
    return [...before, ...choose(open, roundCharsMax)];
  };

  return async ({ history }): Promise<StageDone> => {
    const fresh = log.since(looked, history.head);
    const swapped = new Map<string, LogMessage>();
    const ids: string[] = [];
    for (const results of resultsIn(fresh)) {
      for (const result of goingOf(results)) {
        const { toolUseId, text } = await decide(result);
        const message = swapped.get(result.message.uuid) ?? result.message;
        swapped.set(result.message.uuid, replaceText(message, toolUseId, text));
        ids.push(toolUseId);
      }
      for (const { block } of results) state.seen.add(block.tool_use_id);
    }
    if (swapped.size === 0) {
      looked = history.head;
      const tokens = counter.estimate(history.head);
      const same = tokens === history.tokens ? history : { ...history, tokens };
      return { type: 'stage.done', history: same, usd: 0 };
    }
    const before = counter.estimate(history.head);
    const all = log.at(history.head).map((message) => swapped.get(message.uuid) ?? message);
    const { head } = log.rewriteFrom(history.head, all, 0);
    counter.noteRewrite(history.head, head);
    const tokens = counter.estimate(head);
    looked = head;
    tell({
      type: 'contextEdit',
      stage: 'tool_result_budget',
      tokensFreed: Math.max(0, before - tokens),
      ids,
    });
    return { type: 'stage.done', history: { head, count: all.length, tokens }, usd: 0 };
  };
}
