/**
 * From a scripted message to the acts of its stream, in order. Pure: waits, cuts and drips are
 * data here, `play.ts` does them.
 */
import type { JsonObject } from './json.ts';
import type { MessageReply, Position, ScriptedBlock, UsageFields } from './script.ts';
import { type StreamedBlock, streamBlock } from './stream-block.ts';
import { type Act, eventAct, insertAfter, placeOf, type Spot } from './stream-position.ts';
import { tokensOfBlock } from './tokens.ts';

/** What the reply does not say by itself. */
interface MessageFacts {
  readonly id: string;
  readonly model: string;
  /** Input and cache tokens of the request. */
  readonly usage: UsageFields;
  /** What the request's context editing has left out; `undefined`: it has asked for none. */
  readonly contextManagement?: JsonObject | undefined;
  /** Makes the id of a tool call that has none. */
  readonly nextToolUseId: () => string;
}

/** The message as a client has it in the end. */
export interface WholeMessage {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly JsonObject[];
  readonly stop_reason: string;
  readonly stop_sequence: null;
  readonly usage?: UsageFields;
  readonly context_management?: JsonObject;
}

export type Plan =
  | { readonly ok: true; readonly acts: readonly Act[]; readonly message: WholeMessage }
  /** The script asks for something that cannot be. */
  | { readonly ok: false; readonly field: 'inserts' | 'fault'; readonly problem: string };

/** Stop reason of a reply that may not say one. */
function stopReasonOf(reply: MessageReply): string {
  if (reply.stopReason !== undefined) return reply.stopReason;
  return reply.content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn';
}

interface Told {
  readonly start: UsageFields | undefined;
  readonly final: UsageFields | undefined;
}

/** Usage of the two events that report one: totals so far, as the API does. */
function usageOf(reply: MessageReply, facts: MessageFacts, blocks: readonly StreamedBlock[]): Told {
  const outputTokens = blocks.reduce((sum, { whole }) => sum + tokensOfBlock(whole), 0);
  const total = { ...facts.usage, output_tokens: Math.max(1, outputTokens), ...reply.usage };
  const start =
    reply.startUsage === null ? undefined : { ...total, output_tokens: 1, ...reply.startUsage };
  const final = reply.finalUsage === null ? undefined : { ...total, ...reply.finalUsage };
  return { start, final };
}

const waiting = (ms: number | undefined): Spot[] =>
  ms === undefined || ms <= 0 ? [] : [{ act: { type: 'wait', ms } }];

/** The stream without faults and inserts. */
function undisturbed(
  reply: MessageReply,
  blocks: readonly StreamedBlock[],
  message: WholeMessage,
  usage: Told,
): Spot[] {
  const has = (event: 'message_start' | 'message_delta' | 'message_stop') =>
    reply.omit?.includes(event) !== true;
  const { id, type, role, model, stop_sequence } = message;
  const head = { id, type, role, model, content: [], stop_reason: null, stop_sequence };
  const start = usage.start ? { usage: usage.start } : {};
  const { context_management } = message;
  const edited = context_management ? { context_management } : {};
  const final = { ...(usage.final ? { usage: usage.final } : {}), ...edited };
  const delta = { stop_reason: message.stop_reason, stop_sequence, ...reply.stopDetails };
  return [
    { place: 'headers' },
    ...waiting(reply.firstEventDelayMs),
    ...(has('message_start')
      ? [{ act: eventAct('message_start', { message: { ...head, ...start } }, start) }]
      : []),
    { place: 'message_start' },
    ...Array.from({ length: reply.pings ?? 0 }, () => ({ act: eventAct('ping') })),
    ...blocks.flatMap((block, index) =>
      blockSpots(block, index, { deltaDelayMs: reply.deltaDelayMs, ...reply.content[index] }),
    ),
    { place: 'blocks' },
    ...waiting(reply.stopDelayMs),
    ...(has('message_delta')
      ? [{ act: eventAct('message_delta', { delta, ...final }, final) }]
      : []),
    { place: 'message_delta' },
    ...(has('message_stop') ? [{ act: eventAct('message_stop') }] : []),
  ];
}

type Pace = Partial<Pick<ScriptedBlock, 'startDelayMs' | 'noStop'>> & {
  readonly deltaDelayMs?: number | undefined;
};

function blockSpots({ start, deltas, whole }: StreamedBlock, index: number, pace: Pace): Spot[] {
  const place = (delta: number) => placeOf({ block: index, delta });
  return [
    ...waiting(pace.startDelayMs),
    { act: eventAct('content_block_start', { index, content_block: start }, { index }) },
    { place: place(-1) },
    ...deltas.flatMap((delta, number) => [
      ...waiting(pace.deltaDelayMs),
      { act: eventAct('content_block_delta', { index, delta }, { index }) },
      { place: place(number) },
    ]),
    ...(pace.noStop ? [] : [{ act: eventAct('content_block_stop', { index }, { index, whole }) }]),
    { place: placeOf({ block: index }) },
  ];
}

const noSuchPlace = (field: 'inserts' | 'fault', after: Position): Plan => ({
  ok: false,
  field,
  problem:
    `the stream of this reply has no place after ${JSON.stringify(after)}; blocks and ` +
    'deltas count from 0, and a block has as many deltas as it has pieces',
});

/** Works out the whole stream of a reply. */
export function planMessage(reply: MessageReply, facts: MessageFacts): Plan {
  const blocks = reply.content.map((block) => streamBlock(block, facts.nextToolUseId));
  const usage = usageOf(reply, facts, blocks);
  const message: WholeMessage = {
    id: reply.id ?? facts.id,
    type: 'message',
    role: 'assistant',
    model: reply.model ?? facts.model,
    content: blocks.filter((_, at) => !reply.content[at]?.noStop).map(({ whole }) => whole),
    stop_reason: stopReasonOf(reply),
    stop_sequence: null,
    ...reply.stopDetails,
    ...(usage.final && { usage: usage.final }),
    ...(facts.contextManagement && { context_management: facts.contextManagement }),
  };
  let stream = undisturbed(reply, blocks, message, usage);
  for (const { after, waitMs, until, event, raw } of reply.inserts ?? []) {
    const acts: Act[] = [];
    if (waitMs !== undefined) acts.push({ type: 'wait', ms: waitMs });
    if (until) acts.push({ type: 'until', until });
    if (event) acts.push(eventAct(event.type, event.data));
    if (raw !== undefined) acts.push({ type: 'send', bytes: Buffer.from(raw) });
    const longer = insertAfter(stream, after, acts);
    if (!longer) return noSuchPlace('inserts', after);
    stream = longer;
  }
  if (reply.fault) {
    const end: Act = { type: 'break', fault: reply.fault };
    const broken = insertAfter(stream, reply.fault.after, [end]);
    if (!broken) return noSuchPlace('fault', reply.fault.after);
    stream = broken.slice(0, broken.findIndex(({ act }) => act === end) + 1);
  }
  return { ok: true, acts: stream.flatMap(({ act }) => (act ? [act] : [])), message };
}
