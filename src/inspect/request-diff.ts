/** What is new in a request: against the one of the same kind before it. */
import { changesBetween, sameContent, shownChanges } from './changes.ts';
import { pieceCaps, preview } from './preview.ts';
import type { RequestDiff } from './protocol.ts';

const OPS_MAX = 200;

type Fields = Readonly<Record<string, unknown>>;

/** @param before the body of `previous`; absent for the first one. */
export function requestDiff(
  id: string,
  body: unknown,
  previous: string | null,
  before: unknown,
): RequestDiff {
  if (before === undefined) {
    const ops = [{ op: 'init', path: [], to: preview(body, { ...pieceCaps, depth: 8 }) }] as const;
    return { id, previous: null, ops, moreOps: 0, sameMessages: 0 };
  }
  const { ops, more } = shownChanges(changesBetween(before, body, sameContent), OPS_MAX);
  return { id, previous, ops, moreOps: more, sameMessages: sameMessages(before, body) };
}

/** What the cache can have: marks for the cache are no difference to it. */
function sameMessages(before: unknown, after: unknown): number {
  const was = messagesOf(before);
  const is = messagesOf(after);
  let count = 0;
  while (count < was.length && count < is.length && isSame(was[count], is[count])) count += 1;
  return count;
}

const messagesOf = (body: unknown): readonly unknown[] => {
  const { messages } = body as Fields;
  return Array.isArray(messages) ? messages : [];
};

const isSame = (one: unknown, other: unknown): boolean =>
  sameContent(withoutMarks(one), withoutMarks(other));

function withoutMarks(message: unknown): unknown {
  const { content, ...rest } = message as Fields;
  if (!Array.isArray(content)) return message;
  return {
    ...rest,
    content: content.map((block) => {
      const { cache_control: _, ...bare } = block as Fields;
      return bare;
    }),
  };
}
