/** Log messages and the chart's words, as the host hears them: the only place where they meet. */
import type { LogMessage } from '../services/messages.ts';
import type { Usage } from '../services/model/types.ts';
import { noUsage } from '../services/model/usage.ts';
import type { SDKAssistantMessage, SDKSystemMessage, SDKUserMessage } from './wire.ts';

/** A finished block, or what is said to the model. */
export function messageToWire(
  message: LogMessage,
  sessionId: string,
  usage: Usage = noUsage,
): SDKAssistantMessage | SDKUserMessage {
  const parent_tool_use_id = message.parentToolUseId ?? null;
  const { uuid, content } = message;
  if (message.role === 'assistant') {
    return {
      type: 'assistant',
      uuid,
      session_id: sessionId,
      parent_tool_use_id,
      message: {
        id: message.apiId ?? uuid,
        type: 'message',
        role: 'assistant',
        model: message.model ?? 'unknown',
        content,
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    };
  }
  return {
    type: 'user',
    uuid,
    session_id: sessionId,
    parent_tool_use_id,
    message: { role: 'user', content },
    timestamp: message.timestamp,
    ...(message.isMeta ? { isSynthetic: true } : {}),
    ...(message.toolUseResult === undefined ? {} : { tool_use_result: message.toolUseResult }),
  };
}

/** The last word of a query that failed. It is shown and never sent to the model. */
export function errorToWire(
  uuid: string,
  sessionId: string,
  error: string,
  text: string,
): SDKAssistantMessage {
  return {
    type: 'assistant',
    uuid,
    session_id: sessionId,
    parent_tool_use_id: null,
    message: {
      id: uuid,
      type: 'message',
      role: 'assistant',
      model: '<synthetic>',
      content: [{ type: 'text', text }],
      stop_reason: null,
      stop_sequence: null,
      usage: noUsage,
    },
    error,
  };
}

type Fields<S extends SDKSystemMessage['subtype']> = Omit<
  Extract<SDKSystemMessage, { subtype: S }>,
  'type' | 'subtype' | 'uuid' | 'session_id'
>;

/** What a service says about itself: the engine adds the envelope. */
export type SystemWord = {
  [S in SDKSystemMessage['subtype']]: { readonly subtype: S } & Fields<S>;
}[SDKSystemMessage['subtype']];

export const systemToWire = (word: SystemWord, uuid: string, sessionId: string): SDKSystemMessage =>
  ({ type: 'system', ...word, uuid, session_id: sessionId }) as SDKSystemMessage;
