/** Prompts on their way from the host to a turn. */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../services/is-record.ts';
import { messageOf } from '../../services/message-of.ts';
import type { ContentBlock } from '../../services/messages.ts';
import type { Prompt } from '../config.ts';
import type { Priority } from '../prompt-queue.ts';
import { oddUuid, soundPrompt } from '../sound-prompt.ts';
import type { Fields } from './control.ts';

export interface HostPrompt {
  readonly prompt: Prompt;
  readonly uuid: string;
  readonly isMeta: boolean;
  /** Beside a turn that runs. */
  readonly priority: Priority;
  /** `false`: it only goes along with the next prompt that asks. */
  readonly shouldQuery: boolean;
  /** It is no prompt: its result says why, and the model does not see it. */
  readonly fault?: string;
}

const priorities: readonly Priority[] = ['now', 'next', 'later'];

/** What a person may say. */
const blockTypes = ['text', 'image', 'document', 'search_result', 'tool_result'];

/** Reads a `user` line. Each has a result, also one that is no prompt. */
export function promptOf(message: Fields): HostPrompt {
  const body = isRecord(message.message) ? message.message : {};
  const fault = faultOf(body) ?? uuidFault(message.uuid);
  return {
    prompt: fault === undefined ? (body.content as Prompt) : '',
    ...(fault === undefined ? {} : { fault }),
    uuid: typeof message.uuid === 'string' ? message.uuid : randomUUID(),
    isMeta: message.isSynthetic === true,
    priority: priorities.find((known) => known === message.priority) ?? 'next',
    shouldQuery: message.shouldQuery !== false || fault !== undefined,
  };
}

function faultOf({ role, content }: Fields): string | undefined {
  if (role !== undefined && role !== 'user') {
    return `a message of type "user" has the role ${JSON.stringify(role)}: say "user"`;
  }
  if (typeof content === 'string') return undefined;
  if (!Array.isArray(content)) {
    return 'a user message has no content: give a text or an array of blocks';
  }
  const odd = content.findIndex(
    (block) => !isRecord(block) || !blockTypes.includes(String(block.type)),
  );
  if (odd < 0) return flawOf(content);
  const block: unknown = content[odd];
  const type = isRecord(block) ? JSON.stringify(block.type) : 'none';
  return `content[${odd}] of a user message has the type ${type}: ${blockTypes.join(', ')} exist`;
}

/** In words that name the block. */
function flawOf(content: unknown): string | undefined {
  try {
    soundPrompt(content);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** `null` is no name, and neither is none at all. */
const uuidFault = (uuid: unknown): string | undefined =>
  uuid == null || typeof uuid === 'string' ? undefined : oddUuid(uuid);

/** Several prompts as one, in order. */
export function joinPrompts(prompts: readonly Prompt[]): Prompt {
  const [only, ...more] = prompts;
  return more.length === 0 && only !== undefined ? only : prompts.flatMap(blocksOf);
}

const blocksOf = (prompt: Prompt): readonly ContentBlock[] =>
  typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt;
