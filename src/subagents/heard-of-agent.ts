/** What of an agent's messages goes on: to the host, and as a sign of life to the caller. */
import type { AgentDefinition } from '../../services/agents/agent-definition.ts';
import type { SDKMessage } from '../wire.ts';

/** What the host hears of an agent: all of it but the state of the session, which is not its. */
export function passable(message: SDKMessage, toolUseId: string): readonly SDKMessage[] {
  switch (message.type) {
    case 'assistant':
    case 'user':
    case 'stream_event':
    case 'tool_progress':
      return [{ ...message, parent_tool_use_id: message.parent_tool_use_id ?? toolUseId }];
    case 'system':
      if (message.subtype === 'status' || message.subtype === 'session_state_changed') return [];
      return [{ ...message, parent_tool_use_id: message.parent_tool_use_id ?? toolUseId }];
    case 'tombstone':
      return [message];
    case 'tool_use_summary':
    case 'result':
      return [];
  }
}

/** A whole text that it has said. */
export function textOf(message: SDKMessage): string | undefined {
  if (message.type !== 'assistant' || message.error !== undefined) return undefined;
  const [block] = message.message.content;
  return block?.type === 'text' ? block.text : undefined;
}

/** What it does now, in a few words. */
export function gistOf(
  { name }: AgentDefinition,
  { message }: Extract<SDKMessage, { type: 'assistant' }>,
): string {
  const [block] = message.content;
  return block?.type === 'tool_use' ? `${name}: ${block.name}` : name;
}
