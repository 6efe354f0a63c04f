/**
 * Which messages of a file are the conversation. A file holds branches (taken back, rewound, said
 * twice), lines of other kinds between them, and gaps where lines were lost.
 */
import type { LogMessage } from '../messages.ts';

/** One line with a place in the tree. */
export interface Node {
  readonly uuid: string;
  readonly parentUuid: string | null;
  /** Place in the file; larger is newer. */
  readonly order: number;
  /** None for a line that only stands in between (a notice, a hook, progress). */
  readonly messages: readonly LogMessage[];
  /** The whole history up to here, where a summary stands for it. */
  readonly history?: readonly LogMessage[];
}

export interface Branch {
  /** Oldest first. */
  readonly nodes: readonly Node[];
  /** Parents that are not in the file: the message before stands in for each. */
  readonly gaps: number;
  /** The branch begins where it should: at a first message, or at a summary. */
  readonly isWhole: boolean;
}

/**
 * The way from a leaf to its root. Costs the length of the way, and a sort when there are gaps.
 * A parent that is missing does not end the history: what stood before it in the file goes on.
 */
export function branchTo(leaf: string | null, nodes: ReadonlyMap<string, Node>): Branch {
  const way: Node[] = [];
  const seen = new Set<string>();
  let gaps = 0;
  let inOrder: readonly Node[] | undefined;
  let at = leaf;
  while (at !== null) {
    let node = seen.has(at) ? undefined : nodes.get(at);
    if (!node) {
      gaps += 1;
      inOrder ??= [...nodes.values()].sort((a, b) => a.order - b.order);
      node = before(inOrder, way.at(-1)?.order ?? Number.POSITIVE_INFINITY);
      if (!node) break;
    }
    seen.add(node.uuid);
    way.push(node);
    if (node.history) break;
    at = node.parentUuid;
  }
  return { nodes: way.reverse(), gaps, isWhole: gaps === 0 };
}

/** The newest message before a place; found by halving, for a file may have many gaps. */
function before(inOrder: readonly Node[], order: number): Node | undefined {
  let low = 0;
  let high = inOrder.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inOrder[middle]?.order ?? 0) < order) low = middle + 1;
    else high = middle;
  }
  for (let at = low - 1; at >= 0; at -= 1) {
    const node = inOrder[at];
    if (node && (node.messages.length > 0 || node.history)) return node;
  }
  return undefined;
}

/**
 * Other programs store the blocks of one answer as children of one parent: the way from the leaf
 * meets only one of them. All blocks of an answer on the way belong to it, and so do the results
 * of its calls.
 */
export function withSiblings(
  branch: readonly Node[],
  nodes: ReadonlyMap<string, Node>,
): readonly Node[] {
  const taken = new Set(branch.map(({ uuid }) => uuid));
  const answers = new Set(branch.flatMap((node) => node.messages.flatMap(apiIdOf)));
  const last = branch.at(-1)?.order ?? 0;
  const rest = [...nodes.values()].filter(({ uuid, order }) => !taken.has(uuid) && order < last);
  const blocks = rest.filter(({ messages }) =>
    messages.flatMap(apiIdOf).some((id) => answers.has(id)),
  );
  const calls = new Set([...branch, ...blocks].flatMap(({ messages }) => messages.flatMap(callOf)));
  const answered = new Set(branch.flatMap(({ messages }) => messages.flatMap(resultOf)));
  const results = rest.filter(({ messages }) => {
    const ids = messages.flatMap(resultOf);
    return ids.length > 0 && ids.every((id) => calls.has(id) && !answered.has(id));
  });
  if (blocks.length === 0 && results.length === 0) return branch;
  return [...branch, ...blocks, ...results].sort((a, b) => a.order - b.order);
}

const apiIdOf = ({ role, apiId }: LogMessage) =>
  role === 'assistant' && apiId !== undefined ? [apiId] : [];
const callOf = ({ content }: LogMessage) =>
  content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
const resultOf = ({ content }: LogMessage) =>
  content.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
