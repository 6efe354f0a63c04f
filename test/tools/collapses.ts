/** Conversations in which rounds are collapsed: a tool with long results, in a small window. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogMessage } from '../../services/messages.ts';
import type { QueryEngineConfig } from '../../src/config.ts';
import { callTool, computed, type ReceivedRequest } from '../../src/testing/index.ts';
import type { Step } from '../../src/testing/script.ts';
import type { SDKMessage } from '../../src/wire.ts';
import { hostTool } from './host-tool.ts';
import { call, past, result, user } from './past.ts';

/**
 * Tokens. What a prompt may use: 18,000. Prepared above 10,800, put in place above 13,500 down to
 * 11,700; a summary of everything above 15,750.
 */
export const WINDOW = 24_000;
/** Of one result: 2,000 tokens, as the server counts them. */
const CHARS = 8_000;

const UNTIL_MS = 60_000;

/** What a round has found out; its number is in every line of it. */
export const findingOf = (n: number) => `finding-${n}-${n * 7_919}`;
const resultOf = (n: number) => {
  const line = `${findingOf(n)} stands here among many other words of no use\n`;
  return line.repeat(Math.ceil(CHARS / line.length)).slice(0, CHARS);
};

/** One tool and a short prompt, so that the conversation is what fills the window. */
export const collapsing = (more: Partial<QueryEngineConfig> = {}): Partial<QueryEngineConfig> => ({
  tools: [hostTool('Dig', ({ n }) => resultOf(Number(n)))],
  customSystemPrompt: 'Be brief.',
  autoCompactWindow: WINDOW,
  ...more,
  gates: { contextCollapse: true, ...more.gates },
});

export const digs = (from: number, to: number): readonly Step[] =>
  Array.from({ length: to - from }, (_, n) => callTool('Dig', { n: from + n }));

/** A conversation in which so many rounds were dug before. */
export const dug = (rounds: number): readonly LogMessage[] =>
  past(
    user('dig'),
    ...Array.from({ length: rounds }, (_, n) => [
      call(`m${n}`, `dig_${n}`),
      result(`dig_${n}`, resultOf(n)),
    ]).flat(),
  );

/** The lines of the transcript of this type. */
export function notesOf(home: string, type: string): readonly Record<string, unknown>[] {
  const file = readdirSync(home, { recursive: true })
    .map(String)
    .find((name) => name.endsWith('.jsonl'));
  if (file === undefined) return [];
  const text = readFileSync(join(home, file), 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).trimEnd();
  return whole
    .split('\n')
    .filter((line) => line.includes(`"${type}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.type === type);
}

/** @throws after a time in which a busy machine gets there, too: then it will never be so. */
export const until = async (isSo: () => boolean): Promise<void> => {
  const end = performance.now() + UNTIL_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error('waited for in vain');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

const once = (isSo: (request: ReceivedRequest) => boolean, step: Step): Step =>
  computed(async (request, n) => {
    await until(() => isSo(request));
    if (typeof step === 'function') return step(request, n);
    return typeof step === 'object' && step.kind === 'computed' ? step.reply(request, n) : step;
  });

/** The reply, once so many collapses are prepared: an order of things without a clock. */
export const onceStaged = (
  home: string,
  count: number,
  step: Step,
  type = 'collapse-staged',
): Step => once(() => notesOf(home, type).length >= count, step);

/**
 * The reply, once all collapses are prepared that the prompt lets be prepared: then no decision
 * hangs on how fast a summary comes. Two rounds are protected, two are a portion; every turn before
 * the last has an even number of them.
 */
export const onceAllStaged = (home: string, step: Step): Step =>
  once((request) => notesOf(home, 'collapse-staged').length >= stageableIn(request), step);

/** So many rounds are surely more than 60 % of what a prompt may use. */
const ROUNDS_STAGED = 6;
function stageableIn(request: ReceivedRequest): number {
  const text = textOf(request);
  const whole = new Set(text.match(/finding-\d+-\d+ stands here/g)).size;
  const inPlace = text.match(/<collapsed>/g)?.length ?? 0;
  return whole < ROUNDS_STAGED ? 0 : inPlace + Math.floor((whole - 2) / 2);
}

/** A small model that writes down what it was asked to keep. */
export const findings = computed(
  (request: ReceivedRequest) => {
    const found = JSON.stringify(request.body).match(/finding-\d+-\d+/g) ?? [];
    return `FOLDED: ${[...new Set(found)].join(', ')}`;
  },
  { times: 'always' },
);

export const editsOf = (messages: readonly SDKMessage[]) =>
  messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'context_edit' && message.stage === 'collapse'
      ? [message]
      : [],
  );

export const textOf = (request: ReceivedRequest | undefined): string =>
  JSON.stringify(request?.body.messages ?? '');
