/** What the host hears, as the conversation shows it. */
import type { LogMessage } from '../../services/messages.ts';
import type { SDKMessage } from '../wire.ts';
import type { NewEntry } from './entry-list.ts';
import { preview, stepCaps } from './preview.ts';
import type { MessageBlock, MessageEntry } from './protocol.ts';

const TEXT_CHARS_MAX = 4_000;
const GIST_CHARS_MAX = 240;

/** An entry without its place. */
export type Said = Omit<Extract<NewEntry, { kind: 'message' }>, 'at' | 'instance'>;
type Words = Omit<Said, 'kind'>;
type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** @returns nothing for what is no part of a conversation: progress, and a prompt said again. */
export function entryOfMessage(message: SDKMessage): Said | undefined {
  if (message.type === 'stream_event' || message.type === 'tool_progress') return undefined;
  if (message.type === 'user' && message.isReplay) return undefined;
  return { kind: 'message', ...saidBy(message) };
}

/** That there was one is all that may be known of it. */
export const hiddenMessage = (message: SDKMessage | LogMessage): Said => ({
  ...{ kind: 'message', uuid: message.uuid, type: 'type' in message ? message.type : message.role },
  ...{ effect: 'tells', affects: [], speaker: 'engine', blocks: [], isCut: false, details: {} },
  gist: '[redacted]',
});

/** A message as it goes into history: a prompt, a note of ours, or a line of an old session. */
export function entryOfLogMessage({ uuid, role, kind, isMeta, content }: LogMessage) {
  const { blocks, isCut } = blocksOf(content as unknown as readonly Block[]);
  const said: Words = {
    ...{ uuid, type: role, effect: 'says', affects: [], blocks, isCut, details: {} },
    speaker:
      role === 'assistant' ? 'model' : kind === 'tool_result' ? 'tool' : isMeta ? 'engine' : 'user',
    gist: gistOf(blocks),
  };
  return { kind: 'message', ...said } as const;
}

function saidBy(message: Exclude<SDKMessage, { type: 'stream_event' | 'tool_progress' }>): Words {
  const { uuid, type } = message;
  const none = { blocks: [], affects: [], isCut: false, speaker: 'engine' } as const;
  switch (message.type) {
    case 'assistant': {
      const { blocks, isCut } = blocksOf(message.message.content as unknown as readonly Block[]);
      const { model, usage } = message.message;
      return {
        ...{ uuid, type, effect: 'says', speaker: 'model', blocks, isCut, gist: gistOf(blocks) },
        affects: message.supersedes ?? [],
        details: preview({ model, usage, ...(message.error ? { error: message.error } : {}) }),
      };
    }
    case 'user':
      return ofUser(message);
    case 'tombstone': {
      const gone = message.message.uuid;
      const gist = 'taken back';
      return { ...none, ...{ uuid, type, effect: 'retracts', affects: [gone], gist, details: {} } };
    }
    case 'result':
      return {
        ...none,
        ...{ uuid, type, subtype: message.subtype, effect: 'ends', ...detailsOf(message) },
        gist: oneLine(`${message.terminal_reason}: ${message.result || message.errors.join(' ')}`),
      };
    case 'system':
      return { ...none, ...ofSystem(message) };
    case 'tool_use_summary':
      return {
        ...{ ...none, uuid, type, effect: 'tells', ...detailsOf(message) },
        gist: oneLine(message.summary),
      };
  }
}

function ofUser(message: Extract<SDKMessage, { type: 'user' }>): Words {
  const { uuid, type, isSynthetic } = message;
  const { content } = message.message;
  const parts =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : (content as unknown as readonly Block[]);
  const { blocks, isCut } = blocksOf(parts);
  const isResult = blocks.some((block) => block.type === 'tool_result');
  return {
    ...{ uuid, type, effect: 'says', affects: [], blocks, isCut, details: {} },
    speaker: isResult ? 'tool' : isSynthetic ? 'engine' : 'user',
    gist: gistOf(blocks),
  };
}

const effects: Readonly<Record<string, MessageEntry['effect']>> = {
  compact_boundary: 'compacts',
  context_edit: 'edits',
  api_retry: 'retries',
  transition: 'continues',
};

function ofSystem(
  message: Extract<SDKMessage, { type: 'system' }>,
): Omit<Words, 'blocks' | 'speaker'> {
  const { uuid, type, subtype } = message;
  const shown = detailsOf(message);
  return {
    ...{ uuid, type, subtype, effect: effects[subtype] ?? 'tells', ...shown },
    affects: message.subtype === 'context_edit' ? message.ids : [],
    gist: oneLine(`${subtype}: ${wordsOf(message)}`),
  };
}

/** Of a message that is no block: its own fields. */
function detailsOf(message: object): Pick<Words, 'details' | 'isCut'> {
  const { uuid: _, session_id: __, type: ___, subtype: ____, ...fields } = message as Block;
  const details = preview(fields, { ...stepCaps, chars: TEXT_CHARS_MAX });
  return { details, isCut: JSON.stringify(details).includes('"$":{') };
}

function wordsOf(message: Extract<SDKMessage, { type: 'system' }>): string {
  switch (message.subtype) {
    case 'transition':
      return message.reason;
    case 'api_retry':
      return `${message.attempt} of ${message.max_retries}, in ${message.retry_delay_ms} ms: ${message.error}`;
    case 'compact_boundary': {
      const { pre_tokens: before, post_tokens: after } = message.compact_metadata;
      return `${before} tokens became ${after}`;
    }
    case 'context_edit':
      return `${message.stage} freed ${message.tokens_freed} tokens`;
    case 'informational':
    case 'model_fallback':
      return message.content;
    case 'init':
      return message.model;
    case 'status':
      return message.status ?? 'idle';
    case 'session_state_changed':
      return message.state;
    case 'task_started':
      return message.description;
    case 'task_notification':
      return message.summary;
    case 'history_repaired':
      return message.repairs.join(', ');
    default:
      return '';
  }
}

function blocksOf(content: readonly Block[]): {
  blocks: readonly MessageBlock[];
  isCut: boolean;
} {
  const blocks = content.map(blockOf);
  return { blocks, isCut: JSON.stringify(blocks).includes('"$":{') || blocks.some(isShort) };
}

const isShort = (block: MessageBlock): boolean =>
  'length' in block && block.length > block.text.length;

function blockOf(block: Block): MessageBlock {
  switch (block.type) {
    case 'text':
      return { type: 'text', ...cutText(String(block.text)) };
    case 'thinking':
      return { type: 'thinking', ...cutText(String(block.thinking)) };
    case 'tool_use': {
      const input = preview(block.input, { ...stepCaps, chars: TEXT_CHARS_MAX });
      return { type: 'tool_use', id: String(block.id), name: String(block.name), input };
    }
    case 'tool_result':
      return {
        ...{ type: 'tool_result', toolUseId: String(block.tool_use_id) },
        isError: block.is_error === true,
        ...cutText(resultText(block.content)),
      };
    default:
      return { type: 'other', name: block.type, value: preview(block) };
  }
}

const cutText = (text: string) => ({
  text: text.slice(0, TEXT_CHARS_MAX).replace(/[\uD800-\uDBFF]$/, ''),
  length: text.length,
});

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as readonly { type: string; text?: string }[])
    .map((part) => part.text ?? `[${part.type}]`)
    .join('\n');
}

function gistOf(blocks: readonly MessageBlock[]): string {
  return oneLine(
    blocks
      .map((block) => {
        switch (block.type) {
          case 'tool_use':
            return `${block.name} ${JSON.stringify(block.input)}`;
          case 'other':
            return `[${block.name}]`;
          default:
            return block.text;
        }
      })
      .join(' '),
  );
}

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * GIST_CHARS_MAX)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, GIST_CHARS_MAX);
