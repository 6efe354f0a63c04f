/** How full the window is and with what, in the shape that hosts of the official SDK read. */

import { modelFacts } from '../services/model/model-table.ts';
import type { Usage } from '../services/model/types.ts';
import type { Category } from '../services/preprocess/token-size.ts';
import { windows } from '../services/preprocess/windows.ts';
import { defaultGates } from './config.ts';
import type { Session } from './session.ts';

type CategoryId =
  | 'system_prompt'
  | 'system_tools'
  | 'mcp_tools'
  | 'memory_files'
  | 'messages'
  | 'autocompact_buffer'
  | 'free_space';

/** One row; all rows together are the window. */
export interface ContextCategory {
  readonly id: CategoryId;
  readonly name: string;
  readonly tokens: number;
  readonly color: string;
  readonly kind: 'used' | 'free' | 'buffer';
}
interface GridSquare {
  readonly color: string;
  readonly isFilled: boolean;
  readonly categoryName: string;
  readonly tokens: number;
  readonly percentage: number;
  readonly squareFullness: number;
}
interface NamedTokens {
  readonly name: string;
  readonly tokens: number;
}

/** All numbers are whole, finite and at least 0; `percentage` is at most 100. */
export interface ContextUsage {
  readonly categories: readonly ContextCategory[];
  /** What the next request would have, as far as it is known now. */
  readonly totalTokens: number;
  /** What compaction keeps the prompt below. */
  readonly maxTokens: number;
  /** The model's own window, prompt and answer together. */
  readonly rawMaxTokens: number;
  /** Of `maxTokens`. */
  readonly percentage: number;
  readonly gridRows: readonly (readonly GridSquare[])[];
  readonly model: string;
  readonly memoryFiles: readonly { path: string; type: string; tokens: number }[];
  readonly mcpTools: readonly {
    name: string;
    serverName: string;
    tokens: number;
    isLoaded: boolean;
  }[];
  readonly systemTools: readonly NamedTokens[];
  readonly agents: readonly { agentType: string; source: string; tokens: number }[];
  readonly autoCompactThreshold: number;
  readonly isAutoCompactEnabled: boolean;
  readonly messageBreakdown: {
    readonly toolCallTokens: number;
    readonly toolResultTokens: number;
    readonly attachmentTokens: number;
    readonly assistantMessageTokens: number;
    readonly userMessageTokens: number;
    readonly redirectedContextTokens: number;
    readonly unattributedTokens: number;
    readonly toolCallsByType: readonly never[];
    readonly attachmentsByType: readonly never[];
  };
  /** Of the session's last request that was answered. */
  readonly apiUsage: Usage | null;
}

const colors: Readonly<Record<CategoryId, string>> = {
  system_prompt: 'promptBorder',
  system_tools: 'inactive',
  mcp_tools: 'cyan',
  memory_files: 'claude',
  messages: 'purple',
  autocompact_buffer: 'warning',
  free_space: 'promptBorder',
};
const GRID_SIDE = 10;
/** More of them would say less. */
const LARGEST_PARTS = 3;
const partNames: Readonly<Record<Category, string>> = {
  fixed: 'system prompt and tools',
  prompts: 'prompts',
  answers: 'answers',
  thinking: 'thinking',
  calls: 'tool calls',
  results: 'tool results',
  media: 'images and documents',
  notes: 'notes beside the prompts',
  summaries: 'summaries',
};
const MCP_NAME = /^mcp__(.+?)__/;

/**
 * While a query runs, what stands is in the chart, and the newest known of it is the last request;
 * when it has ended, its history goes on from that request.
 * @param head the history as the engine has it.
 */
export function newestHead({ log, lastRequest }: Session, head: string): string {
  if (!lastRequest) return head;
  const since = log.since(lastRequest.head, head).length;
  const goesOn = log.depthOf(lastRequest.head) + since === log.depthOf(head);
  return goesOn ? head : lastRequest.head;
}

/** What a history is full of, in a sentence. */
export function largestParts({ tokens }: Session, head: string): string {
  const parts = Object.entries(tokens.breakdown(head)) as [Category, number][];
  const largest = parts
    .sort(([, a], [, b]) => b - a)
    .slice(0, LARGEST_PARTS)
    .map(([category, size]) => `${partNames[category]} about ${size}`);
  return `The prompt has about ${tokens.estimate(head)} tokens: ${largest.join(', ')}.`;
}

/** @param head the history that would be sent. */
export function contextUsageOf(session: Session, head: string, model: string): ContextUsage {
  const { tokens: counter, config } = session;
  const { contextWindowTokens, outputTokensMax } = modelFacts(model);
  const window = Math.min(contextWindowTokens, config.autoCompactWindow ?? contextWindowTokens);
  const { effective, autocompact } = windows(window, outputTokensMax);
  const isAutoCompactEnabled = config.gates?.autocompact ?? defaultGates.autocompact;
  const totalTokens = counter.estimate(head);
  const parts = counter.breakdown(head);
  const estimated = Object.values(parts).reduce((a, b) => a + b, 0);
  // The API tells the size of the whole only: its parts are estimates, brought to the same sum.
  const scale = totalTokens / Math.max(1, estimated);
  const scaled = (tokens: number) => Math.floor(tokens * scale);
  const fixed = counter.fixedParts();
  const tools = fixed.tools.map(({ name, tokens }) => ({
    name,
    tokens: scaled(tokens),
    server: MCP_NAME.exec(name)?.[1],
  }));
  const mcpTools = tools.flatMap(({ name, tokens, server }) =>
    server === undefined ? [] : [{ name, serverName: server, tokens, isLoaded: true }],
  );
  const systemTools = tools.flatMap(({ name, tokens, server }) =>
    server === undefined ? [{ name, tokens }] : [],
  );
  const used = {
    system_prompt: scaled(fixed.system),
    system_tools: sum(systemTools),
    mcp_tools: sum(mcpTools),
    memory_files: scaled(fixed.userContext),
  };
  const rest = totalTokens - Object.values(used).reduce((a, b) => a + b, 0);
  const buffer = isAutoCompactEnabled ? window - autocompact : 0;
  const categories = rowsOf({
    ...used,
    messages: Math.max(0, rest),
    autocompact_buffer: buffer,
    free_space: Math.max(0, window - totalTokens - buffer),
  });
  return {
    categories,
    totalTokens,
    maxTokens: effective,
    rawMaxTokens: contextWindowTokens,
    percentage: Math.min(100, Math.round((100 * totalTokens) / Math.max(1, effective))),
    gridRows: gridOf(categories, window),
    model,
    memoryFiles: memoryFilesOf(session),
    mcpTools,
    systemTools,
    agents: [],
    autoCompactThreshold: autocompact,
    isAutoCompactEnabled,
    messageBreakdown: breakdownOf(parts),
    apiUsage: counter.lastUsage(),
  };
}

const names: Readonly<Record<CategoryId, string>> = {
  system_prompt: 'System prompt',
  system_tools: 'System tools',
  mcp_tools: 'MCP tools',
  memory_files: 'Memory files and environment',
  messages: 'Messages',
  autocompact_buffer: 'Autocompact buffer',
  free_space: 'Free space',
};

const sum = (parts: readonly NamedTokens[]): number =>
  parts.reduce((total, { tokens }) => total + tokens, 0);

const kindOf = (id: CategoryId): ContextCategory['kind'] => {
  if (id === 'free_space') return 'free';
  return id === 'autocompact_buffer' ? 'buffer' : 'used';
};

const rowsOf = (tokens: Readonly<Record<CategoryId, number>>): readonly ContextCategory[] =>
  (Object.keys(tokens) as CategoryId[])
    .map((id) => ({
      id,
      name: names[id],
      tokens: tokens[id],
      color: colors[id],
      kind: kindOf(id),
    }))
    .filter((row) => row.tokens > 0 || row.kind === 'free');

/** The window as a square of squares, each the category of the token in its middle. */
function gridOf(rows: readonly ContextCategory[], window: number): ContextUsage['gridRows'] {
  const perSquare = Math.max(1, window / GRID_SIDE ** 2);
  const squareAt = (at: number): GridSquare => {
    let end = 0;
    const row =
      rows.find(({ tokens }) => {
        end += tokens;
        return (at + 0.5) * perSquare < end;
      }) ?? rows.at(-1);
    return {
      color: row?.color ?? colors.free_space,
      isFilled: row?.kind === 'used',
      categoryName: row?.name ?? names.free_space,
      tokens: row?.tokens ?? 0,
      percentage: Math.min(100, Math.round((100 * (row?.tokens ?? 0)) / Math.max(1, window))),
      squareFullness: 1,
    };
  };
  return Array.from({ length: GRID_SIDE }, (_, y) =>
    Array.from({ length: GRID_SIDE }, (_, x) => squareAt(y * GRID_SIDE + x)),
  );
}

/** Instructions are given as `From <path>:` and their text. */
function memoryFilesOf({ config, tokens }: Session): ContextUsage['memoryFiles'] {
  return (config.memory ?? []).map((text) => {
    const path = /^From (.+):\n/.exec(text)?.[1] ?? '';
    const isProject = path.startsWith(config.cwd);
    return { path, type: isProject ? 'Project' : 'User', tokens: tokens.estimateText(text) };
  });
}

const breakdownOf = (parts: Readonly<Record<Category, number>>) => ({
  toolCallTokens: parts.calls,
  toolResultTokens: parts.results,
  attachmentTokens: parts.notes + parts.media,
  assistantMessageTokens: parts.answers + parts.thinking,
  userMessageTokens: parts.prompts,
  redirectedContextTokens: parts.summaries,
  unattributedTokens: 0,
  toolCallsByType: [],
  attachmentsByType: [],
});
