/**
 * Where the prompt cache may stop: after the system prompt, at the end of this request, and at the
 * end of the previous one. The API looks back 20 blocks from a breakpoint for something that it
 * has cached; a wide round is longer than that, so the old end is named again.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { ContentBlock } from '../messages.ts';

type CacheControl = Anthropic.CacheControlEphemeral;
/** Of the API, for system, tools and messages together (rule S9). */
const BREAKPOINTS_MAX = 4;

/** Kinds that may carry one. Thinking never; of kinds that we do not know nobody knows. */
const MARKABLE: ReadonlySet<string> = new Set([
  'text',
  'image',
  'document',
  'search_result',
  'tool_use',
  'tool_result',
  'server_tool_use',
]);

/** Content whose blocks can be replaced; the blocks themselves are shared with other requests. */
export interface OpenMessage {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlock[];
}

interface Place {
  readonly mark: CacheControl | undefined;
  readonly isNew: boolean;
  /** Of ours, the lowest are set first; 0: the system prompt. */
  readonly rank: number;
  readonly set: (mark: CacheControl | undefined) => void;
}

/**
 * Sets our breakpoints beside the caller's own. Too many of the caller's: the oldest go.
 * @param ends last blocks of earlier requests, by identity, the most useful first.
 */
export function setBreakpoints(
  system: Anthropic.TextBlockParam[],
  messages: readonly OpenMessage[],
  ends: readonly (ContentBlock | undefined)[],
): void {
  const places = placesOf(system, messages, ends);
  const own = places.filter(({ mark }) => mark !== undefined);
  const fresh = places.filter(({ isNew }) => isNew);
  const end = places.findLast(({ isNew }) => isNew);
  // The end of the request always; then what the caller wants; then the rest, as far as it goes.
  const room = BREAKPOINTS_MAX - (end === undefined ? 0 : 1);
  const keptOwn = new Set(own.slice(Math.max(0, own.length - room)));
  const others = fresh
    .filter((place) => place !== end)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, room - keptOwn.size);
  const keptFresh = new Set([...others, ...(end ? [end] : [])]);
  // An hour may not stand after five minutes: what comes before an hour becomes one, too.
  let needsHour = false;
  for (const place of places.toReversed()) {
    if (keptOwn.has(place)) needsHour ||= place.mark?.ttl === '1h';
    else if (!keptFresh.has(place)) place.set(undefined);
    else place.set(needsHour ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' });
  }
}

/** Every block with a mark, and every block that is to get one, in the order of the request. */
function placesOf(
  system: Anthropic.TextBlockParam[],
  messages: readonly OpenMessage[],
  ends: readonly (ContentBlock | undefined)[],
): readonly Place[] {
  const places: Place[] = [];
  if (system.length > 0) places.push(placeIn(system, system.length - 1, true));
  const last = lastMarkable(messages);
  for (const { content } of messages) {
    for (const [at, block] of content.entries()) {
      const rank = MARKABLE.has(block.type) ? ends.indexOf(block) : -1;
      const isEnd = block === last || rank >= 0;
      if (isEnd || markOf(block)) places.push(placeIn(content, at, isEnd, rank + 1));
      if (block.type === 'tool_result' && typeof block.content === 'object') {
        places.push(...placesInside(content, at));
      }
    }
  }
  return places;
}

/** Marks of the caller on what stands in a tool result. */
function placesInside(content: ContentBlock[], at: number): readonly Place[] {
  const result = content[at] as Anthropic.ToolResultBlockParam;
  if (typeof result.content !== 'object') return [];
  return result.content.flatMap((inner, innerAt) => {
    const mark = markOf(inner);
    if (!mark) return [];
    const set = () => {
      const { content: now, ...rest } = content[at] as Anthropic.ToolResultBlockParam;
      const items = Array.isArray(now) ? now.with(innerAt, withMark(inner, undefined)) : now;
      content[at] = { ...rest, ...(items === undefined ? {} : { content: items }) };
    };
    return [{ mark, isNew: false, rank: 0, set }];
  });
}

function placeIn<B extends object>(blocks: B[], at: number, isNew: boolean, rank = 0): Place {
  const mark = markOf(blocks[at]);
  return {
    mark,
    isNew: isNew && mark === undefined,
    rank,
    set: (next) => {
      blocks[at] = withMark(blocks[at] as B, next);
    },
  };
}

function lastMarkable(messages: readonly OpenMessage[]): ContentBlock | undefined {
  for (const { content } of messages.toReversed()) {
    const block = content.findLast(({ type }) => MARKABLE.has(type));
    if (block) return block;
  }
  return undefined;
}

function markOf(block: object | undefined): CacheControl | undefined {
  if (!block || !('cache_control' in block)) return undefined;
  return (block.cache_control as CacheControl | null) ?? undefined;
}

function withMark<B extends object>(block: B, mark: CacheControl | undefined): B {
  const { cache_control: _, ...bare } = block as B & { cache_control?: unknown };
  return (mark === undefined ? bare : { ...bare, cache_control: mark }) as B;
}
