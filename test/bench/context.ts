/**
 * CPU of one pass through the stages before a request, over 5,000 messages with 4 MB of text. When
 * nothing has changed there is nothing to do; when a round has come, only the round is looked at.
 * Once without context collapse, once with it, in a window so full that collapses are prepared.
 */

import { begin, type QueryState } from '../../machines/state.ts';
import { createCollapse } from '../../services/collapse/collapse.ts';
import { emptyHistory, MessageLog } from '../../services/message-log.ts';
import type { LogMessage } from '../../services/messages.ts';
import { createAutocompact } from '../../services/preprocess/autocompact.ts';
import { createLegalize } from '../../services/preprocess/legalize.ts';
import { createMicrocompact } from '../../services/preprocess/microcompact.ts';
import { createSnip } from '../../services/preprocess/snip.ts';
import type { Stage } from '../../services/preprocess/stage.ts';
import { createTokenCounter, type TokenCounter } from '../../services/preprocess/token-count.ts';
import {
  contentReplacementState,
  createToolResultBudget,
} from '../../services/preprocess/tool-result-budget.ts';
import { windows } from '../../services/preprocess/windows.ts';

const MESSAGES = 5_000;
const CHARS = 4_000_000;
/** Text, call, result: what one round adds. */
const ROUND = 3;
const PASSES = 200;
const CPU_MS_MAX = 5;
/** Larger than the history: no summary is made here. */
const WINDOW_TOKENS = 4_000_000;
/** Of which the history is two thirds. */
const COLLAPSE_WINDOW_TOKENS = 2_000_000;

/** Results of some can be had again: old ones are cleared now and then, which is in the numbers. */
const NAMES = ['Look', 'Bash', 'Read', 'Grep'];

const words = 'A line of some tool, 42: it says what it says.\n';
const bodyChars = Math.floor((CHARS / MESSAGES) * ROUND) - 100;
const signal = new AbortController().signal;

function round(at: number): readonly LogMessage[] {
  const base = { timestamp: '2026-11-30T00:00:00.000Z', model: 'claude-sonnet-4-5' };
  const answer = { ...base, role: 'assistant', origin: 'model', apiId: `m${at}` } as const;
  const [id, name] = [`c${at}`, NAMES[at % NAMES.length] ?? ''];
  const text = words.repeat(Math.ceil(bodyChars / words.length)).slice(0, bodyChars);
  return [
    { ...answer, uuid: `t${at}`, kind: 'text', content: [{ type: 'text', text: `step ${at}` }] },
    {
      ...answer,
      uuid: `u${at}`,
      kind: 'tool_use',
      toolUseId: id,
      content: [{ type: 'tool_use', id, name, input: { at } }],
    },
    {
      ...base,
      uuid: `r${at}`,
      role: 'user',
      origin: 'tool',
      kind: 'tool_result',
      toolUseId: id,
      content: [{ type: 'tool_result', tool_use_id: id, content: text }],
    },
  ];
}

/** Portions are planned, and the summary of the first never comes. */
const collapsing = (log: MessageLog, counter: TokenCounter): Stage =>
  createCollapse({
    ...{ log, counter, tell: () => {}, collapses: new Map() },
    numbersOf: () => windows(COLLAPSE_WINDOW_TOKENS, 64_000),
    ask: () => new Promise(() => {}),
    mayPay: () => true,
    fold: async () => undefined,
    beside: (work) => void work(signal),
    onStaged: () => {},
    onCommitted: () => {},
  }).collapse;

function pipeline(collapses: boolean) {
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: ['be good'], tools: [] }) });
  const base = { log, counter, tell: () => {} };
  const stages: readonly Stage[] = [
    createToolResultBudget({
      ...base,
      tools: () => [],
      folder: '/nowhere',
      state: contentReplacementState(),
      onReplaced: () => {},
    }),
    createSnip({
      ...base,
      messagesMax: () => MESSAGES * 10,
      takeRequest: () => undefined,
      onSnipped: () => {},
      uuid: () => 'never',
      now: Date.now,
    }),
    createMicrocompact({ ...base, onCleared: () => {} }),
    ...(collapses ? [collapsing(log, counter)] : []),
    createAutocompact({
      ...base,
      compact: async () => ({ kind: 'nothing', reason: 'a bench', usd: 0 }),
      windowOf: () => ({ windowTokens: WINDOW_TOKENS, outputTokensMax: 64_000 }),
      autoCompactWindow: () => undefined,
      pricesOf: () => undefined,
    }),
    createLegalize({ ...base, pricesOf: () => undefined }),
  ];
  const pass = async (state: QueryState): Promise<QueryState> => {
    let next = state;
    for (const stage of stages) next = { ...next, history: (await stage(next, signal)).history };
    return next;
  };
  return { log, pass };
}

/** CPU of all passes together, so that the clock's own steps do not count; in ms for one. */
async function cpuOf(passes: number, run: (at: number) => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  for (let at = 0; at < passes; at += 1) await run(at);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / passes;
}

const all = Array.from({ length: Math.floor(MESSAGES / ROUND) }, (_, at) => round(at)).flat();
const show = (what: string, ms: number) =>
  console.log(`${what.padEnd(42)} ${ms.toFixed(3)} ms CPU`);

for (const collapses of [false, true]) {
  const { log, pass } = pipeline(collapses);
  let state = begin({ queryId: 'bench', history: log.append(emptyHistory, all), model: 'any' });
  const again = async () => {
    state = await pass(state);
  };
  console.log(collapses ? 'with context collapse' : 'without context collapse');
  show('the first pass, which sees all of it', await cpuOf(1, again));
  const unchanged = await cpuOf(PASSES, again);
  show('nothing has changed', unchanged);
  const grown = await cpuOf(PASSES, async (at) => {
    state = await pass({ ...state, history: log.append(state.history, round(1_000_000 + at)) });
  });
  show('a round has come', grown);
  if (Math.max(unchanged, grown) > CPU_MS_MAX) {
    console.error(`above the bound of ${CPU_MS_MAX} ms`);
    process.exitCode = 1;
  }
}
