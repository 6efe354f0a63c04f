/** One line for each thing that a host or a model hears: what a story's test compares. */
import { blocksOf, type ReceivedRequest } from '../../src/testing/received-request.ts';
import type { SDKMessage } from '../../src/wire.ts';

/** Longer than any sentence of ours; only what tools and models say in bulk is cut. */
const LINE_CHARS_MAX = 200;

/** What a message says to the host. */
export function lineOf(message: SDKMessage): string {
  const whole = wholeLineOf(message);
  const isOfAgent = 'parent_tool_use_id' in message && message.parent_tool_use_id;
  const line = isOfAgent ? `agent: ${whole}` : whole;
  return line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line;
}

function wholeLineOf(message: SDKMessage): string {
  switch (message.type) {
    case 'assistant': {
      const [block] = message.message.content;
      const what =
        block?.type === 'text'
          ? `says ${JSON.stringify(block.text)}`
          : block?.type === 'tool_use'
            ? `calls ${block.name} ${JSON.stringify(block.input)}`
            : `${block?.type}`;
      const replaces = message.supersedes?.length ? ` (replaces ${message.supersedes.length})` : '';
      const text = block?.type === 'text' ? block.text : '';
      return message.error ? `error ${message.error}: ${text}` : `model ${what}${replaces}`;
    }
    case 'user': {
      const { content } = message.message;
      if (typeof content === 'string') return `user ${JSON.stringify(content)}`;
      return content
        .map((block) =>
          block.type === 'tool_result'
            ? `result${block.is_error ? ' (error)' : ''} ${JSON.stringify(textOf(block.content))}`
            : block.type === 'text'
              ? `nudge ${JSON.stringify(block.text)}`
              : block.type,
        )
        .join(' + ');
    }
    case 'stream_event': {
      const { type, delta } = message.event as { type: string; delta?: { text?: string } };
      return delta?.text === undefined ? `event ${type}` : `delta ${JSON.stringify(delta.text)}`;
    }
    case 'tombstone':
      return 'taken back';
    case 'tool_progress':
      return `progress ${message.tool_name}`;
    case 'tool_use_summary':
      return `summary of ${message.preceding_tool_use_ids.length} ${JSON.stringify(message.summary)}`;
    case 'result': {
      const error = message.is_error ? ` (${message.subtype})` : '';
      return `end ${message.terminal_reason}${error} ${JSON.stringify(message.result)}`;
    }
    case 'system':
      return systemLine(message);
  }
}

function systemLine(message: Extract<SDKMessage, { type: 'system' }>): string {
  switch (message.subtype) {
    case 'transition':
      return `→ ${message.reason}`;
    case 'api_retry':
      return `retry ${message.attempt}/${message.max_retries} ${message.error_status ?? '-'} ${message.error}`;
    case 'status':
      return `status ${message.status}`;
    case 'informational':
      return `${message.level} ${message.content}`;
    case 'model_fallback':
      return `fallback ${message.original_model} → ${message.fallback_model}`;
    case 'session_state_changed':
      return `state ${message.state}`;
    case 'context_edit':
      return `context_edit ${message.stage}`;
    case 'history_repaired':
      return `history_repaired ${message.repairs.join('; ')}`;
    case 'attachment':
      return `attachment ${message.attachment.type}`;
    case 'task_started':
      return `task_started ${message.description}`;
    case 'task_notification':
      return `task_notification ${message.summary}`;
    case 'token_budget':
      return `token_budget ${message.action} ${message.percentage} %`;
    default:
      return message.subtype;
  }
}

/**
 * The messages of a request, a line each: what the model reads. The first block of the first
 * message is the engine's own context, which is the same in all stories and left out.
 */
export function heard({ body }: ReceivedRequest): readonly string[] {
  const messages = Array.isArray(body.messages) ? body.messages : [];
  return messages.map(({ role, content }: { role: string; content: unknown }, index) => {
    const blocks = blocksOf(content).slice(index === 0 && typeof content !== 'string' ? 1 : 0);
    return `${role}: ${blocks.map(blockLine).join(' + ')}`;
  });
}

function blockLine(block: Readonly<Record<string, unknown>>): string {
  switch (block.type) {
    case 'text':
      return String(block.text);
    case 'tool_use':
      return `${block.name}(${JSON.stringify(block.input)})`;
    case 'tool_result':
      return `${block.is_error ? 'error' : 'result'} ${textOf(block.content)}`;
    default:
      return `[${block.type}]`;
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: { type: string; text?: string }) => block.text ?? `[${block.type}]`)
    .join('\n');
}
