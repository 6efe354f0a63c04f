/**
 * Between the model service and the chart: complete blocks and endings go through the chart, deltas
 * go around it to the host, and a host that is slow slows the stream down.
 */
import type { MessageRef, QueryState } from '../machines/state.ts';
import type { Line } from '../services/as-actor.ts';
import type { LogMessage } from '../services/messages.ts';
import type { CallModel, ModelEvent, ModelRequest, Usage } from '../services/model/types.ts';
import { announcedDeadlineMs } from '../services/tools/executor/index.ts';
import type { ToolInput } from '../services/tools/tool.ts';
import type { SDKStatus } from './config.ts';
import type { QueryScope } from './query-scope.ts';
import { noteReading } from './reading.ts';
import { noteRequest, requestOf } from './request-maker.ts';
import { bill } from './session.ts';

/** One request. Resolves when the last word was said, or nobody listens any more. */
export async function converse(
  line: Line<{ type: string }>,
  callModel: CallModel,
  scope: QueryScope,
): Promise<void> {
  const { state, signal } = line;
  const startedAt = performance.now();
  tellStatus('requesting', scope);
  scope.system({ subtype: 'status', status: 'requesting' });
  const request = { ...requestOf(scope.session, state, signal), ...promptUsdOf(state) };
  const begun = new Set<string>();
  noteRequest(scope.session, state);
  noteReading(scope.session, state.history.head);
  explain(request, state.history.tokens, scope);
  try {
    for await (const event of callModel(request)) {
      if (event.type === 'raw' && event.messageUuid !== undefined) begun.add(event.messageUuid);
      pass(event, request.model, line, scope);
      await scope.queue.room();
    }
  } finally {
    // The chart may have hung up between the deltas of a block and the block itself (an abort, a
    // full answer): what it has not taken, the host must not keep.
    for (const uuid of begun) if (scope.turn.isUnsaid(uuid)) scope.retract(uuid);
    scope.turn.apiMs += performance.now() - startedAt;
    tellStatus(null, scope);
  }
}

/** As the last stage has reckoned it, from what the cache has; 0: nobody knows the price. */
const promptUsdOf = ({ promptUsd }: QueryState): Pick<ModelRequest, 'promptUsd'> =>
  promptUsd > 0 ? { promptUsd } : {};

/** Sizes as the chart judges them. */
function explain(
  { model, messages, tools, maxTokens }: ModelRequest,
  tokens: number,
  scope: QueryScope,
): void {
  const size = `${messages.length} messages of about ${tokens} tokens, ${tools.length} tools`;
  scope.explain(`request to ${model}: ${size}, at most ${maxTokens} tokens back`);
}

const tellStatus = (status: SDKStatus, scope: QueryScope): void =>
  scope.tellCallback('setSDKStatus', () => scope.session.config.setSDKStatus?.(status));

function pass(
  event: ModelEvent,
  model: string,
  { state, send }: Line<{ type: string }>,
  scope: QueryScope,
): void {
  const { session } = scope;
  switch (event.type) {
    case 'waiting':
      // From here on the service has bounds of its own; the chart's wait is for a model that is silent.
      send({ type: 'stream.opened' });
      scope.system({ subtype: 'informational', level: 'info', content: event.detail });
      return;
    case 'opened':
      send({ type: 'stream.opened' });
      return;
    case 'raw':
      passRaw(event, scope);
      return;
    case 'dropped':
      scope.retract(event.messageUuid);
      return;
    case 'block':
      send({ type: 'stream.message', message: refOf(session.log.put(event.message)) });
      return;
    case 'toolUse': {
      const { id, name, input } = event.block;
      const tool = session.tools().find((one) => one.name === name);
      const readable = event.message.unreadable ? undefined : (input as ToolInput);
      const deadlineMs = announcedDeadlineMs(tool, readable);
      const message = refOf(session.log.put(event.message));
      send({ type: 'stream.toolUse', id, deadlineMs, message });
      return;
    }
    case 'warning':
      scope.warn(event.text);
      return;
    case 'ended': {
      const usd = count(event.usage, model, scope);
      session.tokens.noteUsage(state.history.head, event.usage, event.edited?.clearedTokens);
      noteReading(session, state.history.head);
      const tokens = contextOf(event.usage);
      const outputTokens = event.usage.output_tokens;
      send({
        type: 'stream.ended',
        stopReason: event.stopReason,
        tokens,
        outputTokens,
        usd,
      });
      return;
    }
    case 'failed': {
      const usd = event.usage ? count(event.usage, model, scope) : 0;
      const outputTokens = event.usage?.output_tokens ?? 0;
      send({ type: 'request.failed', failure: event.failure, outputTokens, usd });
      return;
    }
  }
}

/** @returns dollars. */
function count(usage: Usage, model: string, { session, turn }: QueryScope): number {
  turn.outputTokens += usage.output_tokens;
  return bill(session, model, usage);
}

function passRaw(event: Extract<ModelEvent, { type: 'raw' }>, scope: QueryScope): void {
  if (!scope.includePartialMessages) return;
  const { messageUuid: uuid } = event;
  // In the file first: when this process is killed, the next one takes back what was half said.
  if (uuid !== undefined && scope.turn.begin(uuid)) {
    scope.session.transcript.note('shown-partly', { uuid });
  }
  scope.queue.push({
    type: 'stream_event',
    event: event.event,
    parent_tool_use_id: null,
    uuid: scope.uuid(),
    session_id: scope.session.id,
    ...(event.messageUuid === undefined ? {} : { message_uuid: event.messageUuid }),
  });
}

/** What the next prompt begins with: everything that this request read and wrote. */
const contextOf = (usage: Usage): number =>
  usage.input_tokens +
  usage.cache_read_input_tokens +
  usage.cache_creation_input_tokens +
  usage.output_tokens;

/** The chart knows of a message what its guards read, and no more. */
function refOf({ uuid, role, kind, toolUseId }: LogMessage): MessageRef {
  return { uuid, role, kind, ...(toolUseId === undefined ? {} : { toolUseId }) };
}
