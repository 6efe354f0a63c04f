/**
 * Many external tools: the schemas of all would be in every request, so they are kept back behind a
 * tool that finds them. What it has found is offered from the next request on.
 */
import type { LogMessage } from '../messages.ts';
import type { ParsedInput, Tool, ToolOutput } from '../tools/tool.ts';

/** Up to here all are offered: about 10,000 tokens at 250 a tool. */
const OFFERED_MAX = 40;
/** One search reveals at most so many; the best fits first. */
const FOUND_MAX = 10;
/** Of all names, in the description: what exists can be asked for by name. */
const NAMES_CHARS_MAX = 6_000;
/** Of each description, in an answer. The whole comes with the schema. */
const ABOUT_CHARS_MAX = 200;

export const TOOL_SEARCH = 'ToolSearch';

const FOUND = 'These can be called from now on:';

/**
 * What a conversation has of external tools already: found by the search, or called. A session that
 * is resumed goes on with them.
 */
export function foundIn(messages: readonly LogMessage[]): readonly string[] {
  const found = new Set<string>();
  const searches = new Set<string>();
  for (const { content, toolUseId, toolUseResult } of messages) {
    for (const block of content) {
      if (block.type !== 'tool_use') continue;
      if (block.name === TOOL_SEARCH) searches.add(block.id);
      else if (block.name.startsWith('mcp__')) found.add(block.name);
    }
    if (toolUseId === undefined || !searches.has(toolUseId)) continue;
    for (const name of namesIn(toolUseResult)) found.add(name);
  }
  return [...found];
}

/** From a file that anybody may have written. */
function namesIn(result: unknown): readonly string[] {
  const { found } = (result ?? {}) as Partial<Record<keyof SearchData, unknown>>;
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
}

/** For the host and for a later session; the model reads the same as text. */
interface SearchData {
  /** Names of tools, best first. */
  readonly found: readonly string[];
}

/**
 * For one session. @param before names that were found earlier. @returns what to offer of the external tools: all when they are few, else those
 * that were found, oldest first (a list that only grows keeps the cached prefix), and the search.
 */
export function deferredTools(
  before: readonly string[] = [],
): (external: readonly Tool[]) => readonly Tool[] {
  const revealed = new Set<string>(before);
  let all: readonly Tool[] = [];
  let search: { readonly names: string; readonly tool: Tool } | undefined;
  return (external) => {
    all = external;
    if (all.length <= OFFERED_MAX) return all;
    const names = all.map(({ name }) => name).join(' ');
    if (search?.names !== names) {
      search = { names, tool: searchTool(names, (query) => find(query, all, revealed)) };
    }
    const byName = new Map(all.map((tool) => [tool.name, tool]));
    const found = [...revealed].flatMap((name) => byName.get(name) ?? []);
    return [search.tool, ...found];
  };
}

function searchTool(names: string, find: (query: string) => ToolOutput): Tool {
  const shown =
    names.length <= NAMES_CHARS_MAX ? names : `${names.slice(0, NAMES_CHARS_MAX)} … and more`;
  return {
    name: TOOL_SEARCH,
    description: `Finds tools of servers and makes them callable: they are too many to be shown at once. Ask by words of what you need, or "select:" and names with commas between. Call a tool only after it was found. Names: ${shown}`,
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string', description: 'Words, or select:name,name.' } },
      required: ['query'],
      additionalProperties: false,
    },
    maxResultSizeChars: 50_000,
    parse: parseQuery,
    isConcurrencySafe: () => true,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => 10_000,
    gist: ({ query }) => String(query).slice(0, 80),
    call: async ({ query }) => find(String(query)),
  };
}

function parseQuery(input: unknown): ParsedInput {
  const { query } = (input ?? {}) as { query?: unknown };
  return typeof query === 'string' && query.trim() !== ''
    ? { ok: true, input: { query } }
    : { ok: false, message: 'query is missing, or no text' };
}

function find(query: string, all: readonly Tool[], revealed: Set<string>): ToolOutput {
  const found = matching(query, all).slice(0, FOUND_MAX);
  if (found.length === 0) {
    return { content: 'No tool fits. Try other words, or select: with a name.', isError: true };
  }
  for (const { name } of found) revealed.add(name);
  const lines = found.map(({ name, description }) => `${name}: ${brief(description)}`);
  const data: SearchData = { found: found.map(({ name }) => name) };
  return { content: [FOUND, ...lines].join('\n'), data };
}

/** In a line each. */
function brief(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= ABOUT_CHARS_MAX ? line : `${line.slice(0, ABOUT_CHARS_MAX)} …`;
}

/** Best first: a word in the name counts more than one in the description. */
function matching(query: string, all: readonly Tool[]): readonly Tool[] {
  const selected = /^\s*select:(.*)$/s.exec(query)?.[1];
  if (selected !== undefined) {
    const names = selected.split(',').map((name) => name.trim());
    return all.filter(({ name }) => names.some((one) => one === name || name.endsWith(`__${one}`)));
  }
  const words = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const scored = all.map((tool) => {
    const [name, about] = [tool.name.toLowerCase(), tool.description.toLowerCase()];
    const scores = words.map((word) => (name.includes(word) ? 3 : about.includes(word) ? 1 : 0));
    return { tool, score: scores.reduce<number>((sum, score) => sum + score, 0) };
  });
  const fitting = scored.filter(({ score }) => score > 0);
  return fitting.sort((a, b) => b.score - a.score).map(({ tool }) => tool);
}
