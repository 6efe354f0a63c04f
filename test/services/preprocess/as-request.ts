/**
 * The request that a history becomes, as far as the strict rules look at it: blocks of one answer
 * are one message, its results follow in one message in the order of the calls, then the rest.
 */
import type { ContentBlock, LogMessage } from '../../../services/messages.ts';
import { checkRequest, violationLine } from '../../../src/testing/strict.ts';

interface ApiMessage {
  role: 'user' | 'assistant';
  content: ContentBlock[];
  apiId?: string | undefined;
}

/** In the order of the calls before everything else. */
const sortHeard = (said: ApiMessage | undefined, heard: ApiMessage) => {
  const order = (said?.content ?? []).flatMap((b) => (b.type === 'tool_use' ? [b.id] : []));
  const rank = (block: ContentBlock) =>
    block.type === 'tool_result' ? order.indexOf(block.tool_use_id) : order.length;
  heard.content = [...heard.content].sort((a, b) => rank(a) - rank(b));
};

export const asRequest = (messages: readonly LogMessage[]) => {
  const out: ApiMessage[] = [];
  for (const { role, content, apiId } of messages) {
    const last = out.at(-1);
    const said = out.at(-2);
    const onlyResults = last?.content.every((block) => block.type === 'tool_result');
    if (last?.role === role) last.content.push(...content);
    else if (role === 'assistant' && onlyResults && apiId && said?.apiId === apiId)
      said.content.push(...content);
    else out.push({ role, content: [...content], apiId });
  }
  out.forEach((message, at) => {
    if (message.role === 'user') sortHeard(out[at - 1], message);
  });
  return {
    model: 'm',
    max_tokens: 1_000,
    messages: out.map(({ role, content }) => ({ role, content })),
  };
};

/** Broken rules, in words. */
export const violationsOf = (messages: readonly LogMessage[]): readonly string[] =>
  checkRequest(JSON.parse(JSON.stringify(asRequest(messages)))).map(violationLine);
