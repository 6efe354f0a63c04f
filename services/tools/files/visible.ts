import type { ToolContext } from '../tool.ts';
import type { SearchPlace } from './search-place.ts';

/** Asked about at once: each is a look at the disk. */
const LOOKS_MAX = 64;

/** What a search may show of what it has found: files that a deny rule hides are left out. */
export const visibleOf = async <T>(
  found: readonly T[],
  nameOf: (one: T) => string,
  { root }: SearchPlace,
  { mayRead }: Pick<ToolContext, 'mayRead'>,
): Promise<readonly T[]> => {
  if (!mayRead) return found;
  const visible: T[] = [];
  for (let at = 0; at < found.length; at += LOOKS_MAX) {
    const some = found.slice(at, at + LOOKS_MAX);
    const answers = await Promise.all(some.map((one) => mayRead(`${root}/${nameOf(one)}`)));
    visible.push(...some.filter((_, index) => answers[index]));
  }
  return visible;
};
