/** The API's rules S1–S7, S9, S10 on a request, for tests. Says what is wrong with it. */
import type Anthropic from '@anthropic-ai/sdk';

type Body = Pick<Anthropic.MessageCreateParamsStreaming, 'messages' | 'system' | 'tools'>;
type Block = Record<string, unknown> & { readonly type: string };

const blocksOf = (message: Anthropic.MessageParam): readonly Block[] =>
  (typeof message.content === 'string'
    ? [{ type: 'text', text: message.content }]
    : message.content) as unknown as readonly Block[];

/** @param isPaused whether the request may end with the answer that was paused. */
export function violations(body: Body, isPaused = false): readonly string[] {
  const found: string[] = [];
  const { messages } = body;
  if (messages[0]?.role !== 'user') found.push('S6: the first message is not of the user');
  if (messages.at(-1)?.role !== 'user' && !isPaused) found.push('S6: ends with the assistant');
  const ids = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    const blocks = blocksOf(message);
    if (blocks.length === 0) found.push(`S5: message ${at} is empty`);
    if (message.role === 'assistant') found.push(...calls(messages, at, ids));
    else found.push(...results(messages, at));
    for (const block of blocks) found.push(...words(block, at));
  }
  if (messages.some(({ role }, at) => role === messages[at + 1]?.role)) {
    found.push('two messages of one role in a row');
  }
  const marks = JSON.stringify(body).match(/"cache_control"/g)?.length ?? 0;
  if (marks > 4) found.push(`S9: ${marks} breakpoints`);
  // JSON.stringify writes a lone surrogate as an escape; pairs stand as they are.
  if (/\\ud[89a-f][0-9a-f]{2}/i.test(JSON.stringify(body))) found.push('S10: a lone surrogate');
  return found;
}

function calls(messages: Body['messages'], at: number, ids: Set<unknown>): readonly string[] {
  const found: string[] = [];
  const next = messages[at + 1];
  const answers = next ? blocksOf(next).map((block) => block.tool_use_id) : [];
  for (const block of blocksOf(messages[at] as Anthropic.MessageParam)) {
    if (block.type !== 'tool_use') continue;
    const { id, input } = block;
    if (ids.has(id) || !/^[a-zA-Z0-9_-]+$/.test(String(id))) found.push(`S3: id ${String(id)}`);
    ids.add(id);
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      found.push(`S3: input of ${String(id)}`);
    }
    if (answers.filter((answer) => answer === id).length !== 1) found.push(`S1: ${String(id)}`);
  }
  return found;
}

function results(messages: Body['messages'], at: number): readonly string[] {
  const found: string[] = [];
  const before = messages[at - 1];
  const called = before
    ? blocksOf(before).flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))
    : [];
  const blocks = blocksOf(messages[at] as Anthropic.MessageParam);
  const answered = blocks.filter(({ type }) => type === 'tool_result');
  for (const { tool_use_id: id } of answered)
    if (!called.includes(id)) found.push(`S2: ${String(id)}`);
  if (blocks.slice(0, answered.length).some(({ type }) => type !== 'tool_result')) {
    found.push(`S7: message ${at}`);
  }
  return found;
}

function words(block: Block, at: number): readonly string[] {
  const found: string[] = [];
  const { type, text, content } = block;
  if (type === 'text' && String(text).trim() === '') found.push(`S4: message ${at}`);
  if (type === 'tool_result') {
    if (typeof content === 'string' ? content.trim() === '' : !Array.isArray(content)) {
      found.push(`S4: a result of message ${at}`);
    }
    if (Array.isArray(content)) {
      if (content.length === 0) found.push(`S4: an empty result in message ${at}`);
      for (const inner of content as Block[]) found.push(...words(inner, at));
    }
  }
  if (/thinking/.test(type) && 'cache_control' in block) found.push('S9: a mark on thinking');
  return found;
}
