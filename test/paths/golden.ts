/**
 * The list of paths as people review it. The paths come from the chart itself, so that a design
 * that is wrong would make paths that are wrong and agree with it: this list is read by eye, and
 * changes only by `npm run paths:update`.
 */
import { edgeById } from '../conformance/chart.ts';
import type { Generated, WorldPath } from './generate.ts';

export const goldenFile = new URL('paths.golden.md', import.meta.url);

const reasonsOf = ({ transitions }: WorldPath): readonly string[] =>
  transitions.flatMap((id) => edgeById.get(id)?.reason ?? []);

/** All paths, a line each: its title, then the reasons on its edges. */
export function goldenOf({ paths, transitions }: Generated): string {
  const worlds = [...new Set(paths.map(({ world }) => world.name))];
  const parts = worlds.map((name) => {
    const lines = paths
      .filter(({ world }) => world.name === name)
      .map((path) => `- ${path.title} ⇒ ${reasonsOf(path).join(', ')}`);
    return `## ${name}\n\n${lines.join('\n')}\n`;
  });
  const head =
    `# ${paths.length} paths take all ${transitions.length} transitions of the chart\n\n` +
    'Left: the ending, then what is not usual on the way. Right: the reasons on its edges.\n' +
    'Made by `npm run paths:update`, read by a person before it is committed.\n';
  return [head, ...parts].join('\n');
}
