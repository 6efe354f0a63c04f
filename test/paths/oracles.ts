/**
 * What a server must have received on a path. An edge that is taken may still do the wrong thing:
 * forget the error that a hook has said, keep what was taken back, ask the wrong model. What is
 * expected here stands in the design, not in the chart.
 */
import { expect } from 'vitest';
import type { ContinueReason } from '../../machines/reasons.ts';
import { blocksOf, type ReceivedRequest } from '../../src/testing/received-request.ts';
import { edgeById } from '../conformance/chart.ts';
import type { WorldPath } from './generate.ts';
import { FALLBACK, MODEL, NOTE, OBJECTION, type Walked } from './walk.ts';

/** What was said is taken back, unless a call of that answer has begun to run. */
const takesBack: Readonly<Record<ContinueReason, boolean>> = {
  next_turn: false,
  stop_hook_blocking: false,
  token_budget_continuation: false,
  structured_output_retry: false,
  max_output_tokens_recovery: false,
  stream_resume: false,
  pause_turn_continuation: false,
  max_output_tokens_escalate: true,
  collapse_drain_retry: true,
  media_strip_retry: true,
  reactive_compact_retry: true,
  malformed_tool_use_retry: true,
  empty_output_retry: true,
};
/** Words that the model must read because of a reason. `undefined`: no word of ours. */
const notes: Partial<Record<ContinueReason, string>> = {
  stop_hook_blocking: OBJECTION,
  token_budget_continuation: 'of the token budget is used',
  structured_output_retry: 'StructuredOutput',
  max_output_tokens_recovery: 'You reached the output limit.',
  stream_resume: 'Your answer broke off.',
  media_strip_retry: '[image left out:',
  reactive_compact_retry: 'CONDENSED',
};

interface Expected {
  readonly model: string;
  readonly maxTokens: number;
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
}
const OVER_BUDGET = 'sampling.failed · always · 0';
const LOWER_CAP = 'sampling.failed · always · 3';
/** Edges by which a request begins. */
const dials = new Set([
  'preprocess.limits · always · 3',
  LOWER_CAP,
  'sampling.backingOff · after backoffMs · 0',
]);
const [FITTING_TOKENS, RAISED_TOKENS] = [5_000, 64_000];

/** What each request must be, in order. */
function expectedOf(path: WorldPath, { plan }: Walked): Expected[] {
  const requests: Expected[] = [];
  let model = MODEL as string;
  let maxTokens = path.world.limits.outputTokens ?? 0;
  let [kept, dropped]: [string[], string[]] = [[], []];
  let said: string[] = [];
  let hasCalled = false;
  let texts = 0;
  let lives = 0;
  const dial = () => {
    const isBroken = plan.faults.has(`model ${lives}`);
    lives += 1;
    if (!isBroken) requests.push({ model, maxTokens, includes: [...kept], excludes: dropped });
  };
  const follow = (id: string) => {
    const reason = edgeById.get(id)?.reason as ContinueReason | undefined;
    if (id === LOWER_CAP) maxTokens = FITTING_TOKENS;
    if (id.startsWith('sampling.switchingModel · model.switched')) model = FALLBACK as string;
    if (dials.has(id)) dial();
    if (id === OVER_BUDGET) requests.pop(); // refused, unsent
    if (reason === undefined || !(reason in takesBack)) return;
    if (reason === 'max_output_tokens_escalate') maxTokens = RAISED_TOKENS;
    if (reason === 'reactive_compact_retry') kept = []; // what lay before is summed up
    if (takesBack[reason] && !hasCalled) dropped = [...dropped, ...said];
    else kept = [...kept, ...said];
    const note = notes[reason];
    if (note !== undefined) kept.push(note);
    said = [];
    hasCalled = false;
  };
  for (const id of path.transitions.slice(0, plan.before[0])) follow(id);
  for (const { outcome, transitions } of path.steps) {
    const isTaken = transitions.some((id) => edgeById.get(id)?.actions.includes('record'));
    if (outcome === 'text') {
      const words = plan.texts[texts];
      texts += 1;
      if (isTaken && words !== undefined) said.push(words.trim());
    }
    if (outcome === 'call' && isTaken) hasCalled = true;
    if (outcome.startsWith('result') && !/shape/.test(outcome)) said.push(NOTE);
    if (outcome === 'compacted') kept = [];
    for (const id of transitions) follow(id);
  }
  return requests;
}

/** Each call is answered in the very next message, and nothing else is answered. */
function checkPairs({ body }: ReceivedRequest): void {
  const messages = (body.messages ?? []) as readonly { role: string; content: unknown }[];
  const idsIn = (at: number, type: string, field: string) =>
    blocksOf(messages[at]?.content)
      .filter((block) => block.type === type)
      .map((block) => String(block[field]))
      .sort();
  for (const [at, { role }] of messages.entries()) {
    const calls = role === 'assistant' ? idsIn(at, 'tool_use', 'id') : [];
    if (role === 'assistant' && (calls.length > 0 || at + 1 < messages.length)) {
      expect(idsIn(at + 1, 'tool_result', 'tool_use_id')).toEqual(calls);
    }
  }
}

/** A paused answer goes back as it is, with no word of ours behind it. */
function checkPause({ steps }: WorldPath, { requests, told }: Walked): void {
  const at = steps.findIndex(({ outcome }) => outcome === 'pause_turn');
  if (at < 0 || told.transitions[0] !== 'pause_turn_continuation') return;
  if (steps[at - 1]?.outcome !== 'text') return; // nothing was said before
  const messages = requests[1]?.body.messages as readonly { role: string }[];
  expect(messages.at(-1)?.role).toBe('assistant');
}

/** *Contract:* throws what vitest's `expect` throws. */
export function checkPayloads(path: WorldPath, walked: Walked): void {
  const { requests, told } = walked;
  const expected = expectedOf(path, walked);
  const seen = requests.map(({ body }) => ({ model: body.model, maxTokens: body.max_tokens }));
  expect(seen).toEqual(expected.map(({ model, maxTokens }) => ({ model, maxTokens })));
  for (const [n, request] of requests.entries()) {
    checkPairs(request);
    const sent = JSON.stringify(request.body.messages);
    for (const words of expected[n]?.includes ?? []) expect(sent).toContain(words);
    for (const words of expected[n]?.excludes ?? []) expect(sent).not.toContain(words);
  }
  checkPause(path, walked);
  // a summary is asked for once for each stuck request, and each ending is said once
  expect(told.results.filter(({ terminal_reason: r }) => r === path.reason)).toHaveLength(
    path.reason === 'completed' ? told.results.length : 1,
  );
}
