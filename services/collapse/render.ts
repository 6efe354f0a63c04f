/** Rounds as a text that people and models can read: for the summary, and for the file beside it. */
import type { ContentBlock, LogMessage, ToolResultContent } from '../messages.ts';
import { isMedia } from '../preprocess/media.ts';
import { callsOf } from '../preprocess/rounds.ts';
import { headAndTail } from '../tools/text/head-and-tail.ts';
import { wellFormed } from '../well-formed.ts';

const partText = (part: ContentBlock | ToolResultContent): string => {
  if (part.type === 'text') return part.text;
  return isMedia(part) ? `[${part.type}]` : JSON.stringify(part);
};

/** What was only thought is left out: it belongs to the model that thought it. */
function blockText(block: ContentBlock, nameOf: (id: string) => string): string | undefined {
  switch (block.type) {
    case 'thinking':
    case 'redacted_thinking':
      return undefined;
    case 'tool_use':
      return `## Call of ${block.name}\n${JSON.stringify(block.input, null, 1)}`;
    case 'tool_result': {
      const { content = '', is_error, tool_use_id } = block;
      const text = typeof content === 'string' ? content : content.map(partText).join('\n');
      return `## ${is_error ? 'Error' : 'Result'} of ${nameOf(tool_use_id)}\n${text}`;
    }
    default:
      return partText(block);
  }
}

function messageText(message: LogMessage, nameOf: (id: string) => string): string | undefined {
  const texts = message.content.flatMap((block) => blockText(block, nameOf) ?? []);
  if (texts.length === 0) return undefined;
  const speaker = message.role === 'assistant' ? '# Assistant\n' : '# Note\n';
  return message.kind === 'text' || message.kind === 'note'
    ? speaker + texts.join('\n')
    : texts.join('\n');
}

/**
 * @param charsMax of one message; a longer one keeps its begin and its end. Default: all of it.
 */
export function renderRounds(messages: readonly LogMessage[], charsMax?: number): string {
  const names = new Map(messages.flatMap(callsOf).map(({ id, name }) => [id, name]));
  const texts = messages.flatMap(
    (message) => messageText(message, (id) => names.get(id) ?? 'a tool') ?? [],
  );
  const shown = charsMax === undefined ? texts : texts.map((text) => headAndTail(text, charsMax));
  return wellFormed(shown.join('\n\n'));
}
