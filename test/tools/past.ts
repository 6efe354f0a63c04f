/** A conversation that was had before, as the log keeps it: for stories that begin in the middle. */
import type { ContentBlock, LogMessage, Origin } from '../../services/messages.ts';

interface Said {
  readonly role: 'user' | 'assistant';
  readonly kind: LogMessage['kind'];
  readonly origin: Origin;
  readonly content: readonly ContentBlock[];
  readonly apiId?: string;
  readonly toolUseId?: string;
}

/** A prompt, or something else that is said to the model. */
export const user = (text: string): Said => ({
  role: 'user',
  kind: 'note',
  origin: 'prompt',
  content: [{ type: 'text', text }],
});

/** One block of an answer; blocks with the same id are one answer. */
export const answer = (apiId: string, text: string): Said => ({
  role: 'assistant',
  kind: 'text',
  origin: 'model',
  apiId,
  content: [{ type: 'text', text }],
});

/** A call; blocks with the same id are one answer. */
export const call = (apiId: string, id: string): Said => ({
  role: 'assistant',
  kind: 'tool_use',
  origin: 'model',
  apiId,
  toolUseId: id,
  content: [{ type: 'tool_use', id, name: 'Look', input: { id } }],
});

/** What a call gave. */
export const result = (id: string, text: string): Said => ({
  role: 'user',
  kind: 'tool_result',
  origin: 'tool',
  toolUseId: id,
  content: [{ type: 'tool_result', tool_use_id: id, content: text }],
});

/** As `initialMessages` of an engine. */
export const past = (...said: readonly Said[]): readonly LogMessage[] =>
  said.map((one, at) => ({
    uuid: `past-${at}`,
    timestamp: '2026-11-29T12:00:00.000Z',
    model: 'claude-sonnet-4-5',
    ...one,
  }));
