/**
 * THE one place where log messages become messages of the API. The log is in the order in which
 * things happened, one block an entry, results between the calls of the same answer; the API wants
 * an answer whole and all of its results behind it.
 *
 * *Contract:* a legal history gives a legal request (rules S1–S7, S9, S10), the same history the
 * same bytes, a longer history the same bytes and more. An illegal one is the business of
 * `legalize`.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { QuerySource } from '../../machines/state.ts';
import { CACHED_MICROCOMPACT } from '../features.ts';
import { isRecord } from '../is-record.ts';
import type { ContentBlock, LogMessage, ToolResultBlock } from '../messages.ts';
import type { Tool } from '../tools/tool.ts';
import { deepWellFormed, isWellFormed, wellFormed } from '../well-formed.ts';
import { type OpenMessage, setBreakpoints } from './cache-breakpoints.ts';
import { CONTEXT_EDITING_BETA, contextManagement } from './context-editing.ts';
import { isThinking, mayThinkWith } from './strip-signatures.ts';
import { thinkingParam } from './thinking-param.ts';
import type { ModelRequest } from './types.ts';

/** What a request is for, told to gateways and test servers. */
const PURPOSE_HEADER = 'x-escapement-purpose';
/** Task budgets are a beta of the API; without one nothing beta is asked for. */
const TASK_BUDGET_BETA = 'task-budgets-2026-03-13';
/** Silence is the usual success of a command; the API refuses a result without a word. */
const NO_OUTPUT = '(no output)';

const PURPOSES: Readonly<Record<QuerySource, string>> = {
  main: 'loop',
  subagent: 'loop',
  compact: 'compact',
  collapse: 'collapse',
  tool_summary: 'tool_summary',
  hook_agent: 'hook_agent',
};

export interface BuiltRequest {
  readonly body: Anthropic.MessageCreateParamsStreaming;
  readonly headers: Record<string, string>;
}

/** A request as it goes over the wire. */
export function buildRequest(request: ModelRequest): BuiltRequest {
  const projection = projectMessages(request.messages, request);
  const { messages, previousEnd, anchorEnd } = projection;
  const system = toSystem(request.systemPrompt);
  // What is asked once nobody reads again: a cache write would only cost a quarter more.
  if (isReadAgain(request)) setBreakpoints(system, messages, [previousEnd, anchorEnd]);
  const maxTokens = Math.max(1, Math.floor(request.maxTokens));
  const thinking = thinkingParam(request.thinking, request.model, maxTokens);
  const body = {
    model: request.model,
    max_tokens: maxTokens,
    ...(system.length > 0 ? { system } : {}),
    messages,
    ...(request.tools.length > 0 ? { tools: request.tools.map(toTool) } : {}),
    ...(thinking && mayAskFor(thinking, projection) ? { thinking } : {}),
    ...taskBudgetParam(request),
    ...(CACHED_MICROCOMPACT && request.contextEdit
      ? { context_management: contextManagement(request.contextEdit) }
      : {}),
    stream: true as const,
  };
  const betas = [
    ...(request.taskBudget ? [TASK_BUDGET_BETA] : []),
    ...(CACHED_MICROCOMPACT && request.contextEdit ? [CONTEXT_EDITING_BETA] : []),
  ];
  const headers = {
    [PURPOSE_HEADER]: PURPOSES[request.querySource],
    ...(betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {}),
  };
  return { body, headers };
}

/** Errands of one request stand alone; a summary begins with the prompt of the loop. */
export const isReadAgain = ({ querySource: source }: Pick<ModelRequest, 'querySource'>): boolean =>
  source === 'main' || source === 'subagent' || source === 'compact';

/** Whether thinking that had to be left out forbids to ask for more of it. */
function mayAskFor({ type }: Anthropic.ThinkingConfigParam, projection: Projection): boolean {
  // "a final assistant message must start with a thinking block": in the round after a switch of
  // models it cannot, and the API's own advice is to switch thinking off until the next prompt.
  if (type === 'enabled') return !projection.lostThinking;
  // After a rewrite of the past the newest calls stand without it: nothing is said of thinking in
  // that one request, which these models take as their default.
  return type !== 'adaptive' || !projection.unboundBesideCall;
}

/** Beta: the types of the plain namespace do not know it. */
const taskBudgetParam = ({ taskBudget }: ModelRequest): object =>
  taskBudget ? { output_config: { task_budget: { type: 'tokens', ...taskBudget } } } : {};

/** The same prompt, for the API's own count. */
export function buildCountRequest(request: ModelRequest): Anthropic.MessageCountTokensParams {
  const { model, messages, system, tools, thinking } = buildRequest(request).body;
  return {
    model,
    messages,
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools: tools as Anthropic.MessageCountTokensTool[] }),
    ...(thinking === undefined ? {} : { thinking }),
  };
}

/** An answer of the model, as much of it as is in the log, and what the user's side says to it. */
interface Exchange {
  apiId: string | undefined;
  readonly said: ContentBlock[];
  readonly results: ToolResultBlock[];
  readonly others: ContentBlock[];
  /** Thinking of another model stood here. */
  lostThinking: boolean;
  /** Thinking that belongs to a past which was rewritten. */
  isUnbound: boolean;
}

export interface Projection {
  readonly messages: OpenMessage[];
  /** The block with which the first `previousCount` entries end. */
  readonly previousEnd: ContentBlock | undefined;
  /** … and with which the first `anchorCount` end. */
  readonly anchorEnd: ContentBlock | undefined;
  /** The answer that is being worked on has had thinking that may not go to this model. */
  readonly lostThinking: boolean;
  /** Beside the newest call stood thinking that a rewrite of the past has made worthless. */
  readonly unboundBesideCall: boolean;
}

/** History as the API takes it. Blocks are shared with the log: replace, never change them. */
export function projectMessages(
  log: readonly LogMessage[],
  options: Pick<
    ModelRequest,
    'model' | 'previousCount' | 'anchorCount' | 'userContext' | 'keepsSignatures'
  >,
): Projection {
  const mayThink = (message: LogMessage) =>
    options.keepsSignatures ? message.model !== undefined : mayThinkWith(message, options.model);
  const exchanges: Exchange[] = [emptyExchange()];
  let previousEnd: ContentBlock | undefined;
  let anchorEnd: ContentBlock | undefined;
  for (const [at, message] of log.entries()) {
    add(exchanges, message, mayThink(message));
    if (at + 1 === options.previousCount) previousEnd = endOf(exchanges);
    if (at + 1 === options.anchorCount) anchorEnd = endOf(exchanges);
  }
  const messages: OpenMessage[] = [];
  for (const [at, exchange] of exchanges.entries()) {
    const said = whatWasSaid(exchange, at === exchanges.length - 1);
    append(messages, 'assistant', said);
    append(messages, 'user', [...inCallOrder(exchange), ...exchange.others]);
  }
  addUserContext(messages, options.userContext);
  return {
    messages,
    previousEnd,
    anchorEnd,
    lostThinking: lostSinceThePrompt(exchanges),
    unboundBesideCall: exchanges.findLast(hasCall)?.isUnbound ?? false,
  };
}

const emptyExchange = (apiId?: string): Exchange => ({
  apiId,
  said: [],
  results: [],
  others: [],
  lostThinking: false,
  isUnbound: false,
});

function add(exchanges: Exchange[], message: LogMessage, mayThink: boolean): void {
  let current = exchanges.at(-1) as Exchange;
  const blocks = sendable(message);
  if (message.role === 'user') {
    for (const block of blocks) {
      if (block.type === 'tool_result') current.results.push(block);
      else current.others.push(block);
    }
    return;
  }
  const isAnswered = current.results.length + current.others.length > 0;
  const goesOn = message.apiId !== undefined && message.apiId === current.apiId;
  if (isAnswered && !goesOn) {
    current = emptyExchange();
    exchanges.push(current);
  }
  current.apiId = message.apiId;
  if (mayThink) {
    current.said.push(...blocks);
    return;
  }
  const spoken = blocks.filter((block) => !isThinking(block));
  current.said.push(...spoken);
  if (spoken.length === blocks.length) return;
  current.lostThinking = true;
  current.isUnbound ||= message.model === undefined;
}

/**
 * "The final block in an assistant message cannot be `thinking`": what was only thought before the
 * answer was cut goes, whole. Not beside a call: there the API wants all thinking back. Not from
 * a paused answer, which goes back unchanged and last.
 */
function whatWasSaid({ said, results, others }: Exchange, isLast: boolean): ContentBlock[] {
  const isPaused = isLast && results.length + others.length === 0;
  if (isPaused || said.some(({ type }) => type === 'tool_use')) return said;
  return said.slice(0, said.findLastIndex((block) => !isThinking(block)) + 1);
}

/** Results as the calls stand in the answer; what answers no call stays behind them. */
function inCallOrder({ said, results }: Exchange): readonly ToolResultBlock[] {
  if (results.length < 2) return results;
  const order = new Map<string, number>();
  for (const block of said) if (block.type === 'tool_use') order.set(block.id, order.size);
  const rank = (result: ToolResultBlock) => order.get(result.tool_use_id) ?? order.size;
  return results.toSorted((a, b) => rank(a) - rank(b));
}

function endOf(exchanges: readonly Exchange[]): ContentBlock | undefined {
  const exchange = exchanges.at(-1);
  if (!exchange) return undefined;
  const { said, others } = exchange;
  return others.at(-1) ?? inCallOrder(exchange).at(-1) ?? said.at(-1);
}

/** Content of one role in a row is one message. */
function append(messages: OpenMessage[], role: OpenMessage['role'], blocks: ContentBlock[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else messages.push({ role, content: [...blocks] });
}

function addUserContext(messages: OpenMessage[], userContext: string | undefined): void {
  if (userContext === undefined || userContext.trim() === '') return;
  const text = { type: 'text', text: deepWellFormed(userContext) } as const;
  const first = messages.find(({ role }) => role === 'user');
  if (first === undefined || first !== messages[0]) {
    messages.unshift({ role: 'user', content: [text] });
    return;
  }
  const at = first.content.findIndex(({ type }) => type !== 'tool_result');
  first.content.splice(at < 0 ? first.content.length : at, 0, text);
}

const hasCall = ({ said }: Exchange): boolean => said.some(({ type }) => type === 'tool_use');

/** Since the last thing that a person or a note said: there the API looks for thinking. */
function lostSinceThePrompt(exchanges: readonly Exchange[]): boolean {
  for (const { lostThinking, others } of exchanges.toReversed()) {
    if (others.length > 0) return false;
    if (lostThinking) return true;
  }
  return false;
}

/** What is sent of an entry. Entries never change, so each is looked at once. */
const sendableOf = new WeakMap<LogMessage, readonly ContentBlock[]>();
function sendable(message: LogMessage): readonly ContentBlock[] {
  const known = sendableOf.get(message);
  if (known) return known;
  const blocks = message.content.flatMap((block) => {
    const clean = cleaned(block, message);
    return clean ? [clean] : [];
  });
  sendableOf.set(message, blocks);
  return blocks;
}

function cleaned(block: ContentBlock, message: LogMessage): ContentBlock | undefined {
  switch (block.type) {
    case 'text':
      if (block.text.trim() === '') return undefined;
      return isWellFormed(block.text) ? block : { ...block, text: wellFormed(block.text) };
    case 'thinking':
      // Neither may it be sent so, nor may it be changed.
      return isWellFormed(block.thinking) ? withoutMark(block) : undefined;
    case 'redacted_thinking':
      return withoutMark(block);
    case 'tool_use':
      return message.unreadable || !isRecord(block.input)
        ? deepWellFormed({ ...block, input: {} })
        : deepWellFormed(block);
    case 'tool_result':
      return deepWellFormed({ ...block, ...resultContent(block.content) });
    default:
      return deepWellFormed(block);
  }
}

function resultContent(content: ToolResultBlock['content']): Pick<ToolResultBlock, 'content'> {
  if (typeof content === 'string') return { content: content.trim() === '' ? NO_OUTPUT : content };
  const said = content?.filter((part) => part.type !== 'text' || part.text.trim() !== '') ?? [];
  return { content: said.length > 0 ? said : NO_OUTPUT };
}

/** A breakpoint on thinking is refused. */
function withoutMark(block: ContentBlock): ContentBlock {
  if (!('cache_control' in block)) return block;
  const { cache_control: _, ...bare } = block;
  return bare as ContentBlock;
}

function toSystem(prompt: readonly string[]): Anthropic.TextBlockParam[] {
  return prompt
    .filter((text) => text.trim() !== '')
    .map((text) => ({ type: 'text', text: deepWellFormed(text) }));
}

/** In the order given: another order is another cache. */
function toTool({ name, description, inputSchema }: Tool): Anthropic.Tool {
  const said = description.trim() === '' ? {} : { description: deepWellFormed(description) };
  return { name, ...said, input_schema: deepWellFormed(inputSchema) as Anthropic.Tool.InputSchema };
}
