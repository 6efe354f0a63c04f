/** What holds of every session, whatever happens in it. */
import type { QueryOutput } from '../../machines/events.ts';
import { terminalReasons } from '../../machines/reasons.ts';
import type { LogMessage } from '../../services/messages.ts';
import { wellFormed } from '../../services/well-formed.ts';
import type { QueryEngine } from '../query-engine.ts';
import type { SDKMessage, SDKResultMessage } from '../wire.ts';
import type { ScriptedServer } from './scripted-server.ts';

/** What is looked at: all that a host heard, what stands, and what the server saw. */
export interface SessionFacts {
  /** In the order in which they came, of all turns. */
  readonly messages: readonly SDKMessage[];
  readonly results: readonly SDKResultMessage[];
  /** Uuids of the prompts that were submitted, one for each turn. */
  readonly prompts: readonly string[];
  /** What stands in the end (`engine.messages`). */
  readonly history: readonly LogMessage[];
  /** What the chart agreed to, in this order (`agreedBy`): history with every compaction undone. */
  readonly agreed: readonly string[];
  readonly server: Pick<ScriptedServer, 'violations' | 'scriptErrors' | 'billed'>;
  /** Warnings of the process (`warningsDuring`). */
  readonly warnings: readonly string[];
}

/** Something that always holds, and did not. */
export interface BrokenInvariant {
  readonly name: InvariantName;
  readonly detail: string;
}

/**
 * Uuids of all that becomes history from now on, as the chart says it; compactions take nothing
 * from it. The list grows while the engine runs. Takes the engine's `inspect`.
 */
export function agreedBy(engine: QueryEngine): readonly string[] {
  const agreed: string[] = [];
  engine.inspect = ({ type, actorRef, rootId }) => {
    if (type !== '@xstate.actor' || actorRef.sessionId !== rootId) return;
    const root = actorRef as unknown as { on(type: '*', f: (word: QueryOutput) => void): void };
    root.on('*', (word) => {
      if (word.type === 'agreed') agreed.push(...word.messages.map(({ uuid }) => uuid));
    });
  };
  return agreed;
}

/** Of the whole process: sessions may be heard beside each other. */
const warnings: string[] = [];
let isWatching = false;

/**
 * Warnings of the process from now on, such as listeners that pile up. One listener for all that
 * ask, which changes nothing of what Node prints.
 */
export function warningsDuring(): () => readonly string[] {
  const start = warnings.length;
  if (!isWatching) {
    isWatching = true;
    process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));
  }
  return () => warnings.slice(start);
}

/** What the host has seen of the conversation, without what was taken back. */
export function viewOf(messages: readonly SDKMessage[]): readonly string[] {
  const view = new Set<string>();
  for (const message of messages) {
    // What an agent says is history of its own.
    if ('parent_tool_use_id' in message && message.parent_tool_use_id) continue;
    if (message.type === 'assistant' && message.error === undefined) view.add(message.uuid);
    if (message.type === 'user' && !message.isReplay) view.add(message.uuid);
    if (message.type === 'tombstone') view.delete(message.message.uuid);
  }
  return [...view];
}

/** Text of the deltas that were shown and not taken back, by the message that they belong to. */
export function deltasOf(messages: readonly SDKMessage[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const message of messages) {
    if (message.type === 'tombstone') texts.delete(message.message.uuid);
    if (message.type !== 'stream_event' || message.message_uuid === undefined) continue;
    if (message.parent_tool_use_id) continue; // an agent's
    // The API begins a block empty; others send the first words with its begin.
    const { delta, content_block: begun } = message.event as Record<string, { text?: string }>;
    const before = texts.get(message.message_uuid) ?? '';
    texts.set(message.message_uuid, before + (begun?.text ?? '') + (delta?.text ?? ''));
  }
  return texts;
}

/** Text of the model's messages that stand, by uuid. */
export function standingTexts(messages: readonly SDKMessage[]): ReadonlyMap<string, string> {
  const view = new Set(viewOf(messages));
  return new Map(
    messages.flatMap((message) => {
      if (message.type !== 'assistant' || !view.has(message.uuid)) return [];
      const [block] = message.message.content;
      return [[message.uuid, block?.type === 'text' ? block.text : '']];
    }),
  );
}

const checks = {
  /** The strict server took every request. */
  legal: ({ server }) => {
    const [first] = server.violations;
    return first && `request ${first.request} breaks ${first.rule}: ${first.message}`;
  },
  /** The story itself makes sense. */
  script: ({ server }) => server.scriptErrors[0],
  /** Each prompt is named by exactly one result, and each turn has one, with a reason we know. */
  results: ({ results, prompts }) => {
    const odd = results.find(({ terminal_reason: reason }) => !isKnown(reason));
    if (odd) return `nobody knows the reason ${odd.terminal_reason}`;
    if (results.length !== prompts.length) {
      return `${results.length} results for ${prompts.length} prompts`;
    }
    // What was said beside a turn is named, too.
    const named = results.flatMap(({ user_message_uuids: uuids }) => uuids);
    const twice = named.find((uuid, at) => named.indexOf(uuid) !== at);
    if (twice !== undefined) return `the prompt ${twice} is named twice`;
    const unnamed = prompts.find((uuid) => !named.includes(uuid));
    return unnamed && `no result names the prompt ${unnamed}`;
  },
  /** `success` is said of nothing that is an error, and an error says what it is. */
  honest: ({ results }) =>
    results
      .filter((r) => r.is_error === (r.subtype === 'success') || r.is_error !== r.errors.length > 0)
      .map((r) => `${r.terminal_reason}: ${r.subtype}, ${r.errors.length} errors`)[0],
  /** The host's view without what was taken back is the history with compactions undone. */
  view: ({ messages, agreed, history }) => {
    // Calls that an earlier turn has left open are answered before the chart runs, and what hooks say
    // of them stands with the answers.
    const known = new Set(agreed);
    const settled = new Set(
      history.flatMap(({ role, uuid }) => (role === 'user' && !known.has(uuid) ? uuid : [])),
    );
    return differenceOf(
      viewOf(messages).filter((uuid) => !settled.has(uuid)),
      agreed,
    );
  },
  /** … and, where nothing has rewritten it, the history itself. */
  stands: ({ messages, agreed, history }) => {
    const isRewritten = messages.some(
      (m) => m.type === 'system' && /compact_boundary|context_edit|repaired/.test(m.subtype),
    );
    if (isRewritten) return undefined;
    const known = new Set(agreed);
    return differenceOf(
      history.map(({ uuid }) => uuid).filter((uuid) => known.has(uuid)),
      agreed,
    );
  },
  /** Every message has a name of its own, and replaces only what was taken back before, once. */
  names: ({ messages }) => {
    const names = new Set<string>();
    const retracted = new Set<string>();
    for (const message of messages) {
      if (names.has(message.uuid)) return `two messages have the uuid ${message.uuid}`;
      names.add(message.uuid);
      if (message.type === 'tombstone') retracted.add(message.message.uuid);
      const supersedes = message.type === 'assistant' ? (message.supersedes ?? []) : [];
      const stray = supersedes.find((uuid) => !retracted.delete(uuid));
      if (stray !== undefined) return `${stray} is replaced and was not taken back`;
    }
    return undefined;
  },
  /** Deltas that were not taken back are the text of what stands. */
  deltas: ({ messages }) => {
    const deltas = deltasOf(messages);
    if (deltas.size === 0) return undefined;
    return differenceOf(
      // A message is mended where the model has sent half of a pair; its deltas are as they came.
      [...deltas].filter(([, t]) => t !== '').map(([uuid, t]) => `${uuid} ${wellFormed(t)}`),
      [...standingTexts(messages)].filter(([, text]) => text !== '').map((pair) => pair.join(' ')),
    );
  },
  /** No call of the model stays without an answer in what stands. */
  answered: ({ history, results }) => {
    const answers = new Set(history.flatMap((m) => (m.kind === 'tool_result' ? m.toolUseId : [])));
    const open = history.find((m) => m.kind === 'tool_use' && !answers.has(m.toolUseId));
    // A turn that leaves its calls to the host names the first of them; they are one answer's.
    if (open && open.toolUseId === results.at(-1)?.deferred_tool_use?.id) return undefined;
    return open && `the call ${open.toolUseId} has no answer`;
  },
  /** The results add up to what the server told, broken answers included. */
  usage: ({ results, server }) => {
    const told = server.billed({ includingBroken: true });
    const fields = Object.keys(told) as (keyof typeof told)[];
    const sum = (field: keyof typeof told) => results.reduce((n, r) => n + r.usage[field], 0);
    const wrong = fields.find((field) => sum(field) !== told[field]);
    return wrong && `${wrong} is ${sum(wrong)} in the results, the server told ${told[wrong]}`;
  },
  /** What the turns have used is what the session has used, model by model. */
  meter: ({ results }) => {
    const models = Object.values(results.at(-1)?.modelUsage ?? {});
    const [spent, total] = [
      results.reduce((sum, { usage }) => sum + usage.output_tokens, 0),
      models.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    ];
    return spent === total
      ? undefined
      : `the turns used ${spent} output tokens, the session ${total}`;
  },
  /** Nothing leaks that Node warns of. */
  warnings: ({ warnings }) => warnings[0],
} satisfies Record<string, (facts: SessionFacts) => string | undefined>;

/** Names of the things that always hold. */
export type InvariantName = keyof typeof checks;

const isKnown = (reason: string): boolean =>
  reason in terminalReasons || reason === 'turn_setup_failed';

function differenceOf(shown: readonly string[], stands: readonly string[]): string | undefined {
  const at = [...shown, ...stands].findIndex((_, i) => shown[i] !== stands[i]);
  if (at < 0) return undefined;
  return `at ${at} the host has ${shown[at]}, the history ${stands[at]} (${shown.length} and ${stands.length})`;
}

/** Which of the things that always hold do not. Empty: all is well. */
export const brokenInvariants = (facts: SessionFacts): readonly BrokenInvariant[] =>
  (Object.keys(checks) as InvariantName[]).flatMap((name) => {
    const detail = checks[name](facts);
    return detail === undefined ? [] : [{ name, detail }];
  });

/**
 * Throws when something does not hold that always holds: every request was legal, each prompt is
 * named by one result, each call has an answer, what was shown and not taken back is what stands,
 * the results have the usage that the server told.
 * @param options.except what this test means to break. `usage` where a connection was cut or a turn
 * was stopped: what the server told last may not have arrived.
 * @throws Error that names each, with what was seen.
 *
 * @example
 * const session = recordSession(engine, server);
 * await session.prompt('do it');
 * checkInvariants(session.facts());
 */
export function checkInvariants(
  facts: SessionFacts,
  options: { readonly except?: readonly InvariantName[] } = {},
): void {
  const broken = brokenInvariants(facts).filter(({ name }) => !options.except?.includes(name));
  if (broken.length === 0) return;
  throw new Error(broken.map(({ name, detail }) => `${name}: ${detail}`).join('\n'));
}
