/**
 * Skills of a part of the project are found when the work comes there. Looking for them begins with
 * the round and is done beside it; what was found is read with the round's results.
 */
import { join } from 'node:path';
import { type Beside, createAhead, sayFailures } from '../attachments/ahead.ts';
import { attachmentMessage } from '../attachments/attachment-message.ts';
import { type AheadOfTime, foldersOf } from '../memory/nested-memory.ts';
import type { Tell } from '../preprocess/stage.ts';
import type { ToolState } from '../tools/tool.ts';
import { foundSkillsOf } from './found-skills.ts';
import { loadSkills, type Skill } from './load-skills.ts';

export interface DiscoverSkillsDeps {
  /** The working folder that the session began in, a real path. */
  readonly root: string;
  readonly toolState: ToolState;
  /** With which the session began. */
  readonly skills: readonly Skill[];
  /** Can the model open them? Else it reads their files. */
  readonly hasTool: boolean;
  /** Names that were found in this turn; grows. */
  readonly discovered: Set<string>;
  readonly beside: Beside;
  /** What could not be looked at. */
  readonly tell: Tell;
  readonly uuid: () => string;
  readonly now: () => Date;
}

export function createSkillDiscovery(deps: DiscoverSkillsDeps): AheadOfTime {
  const { root, toolState, skills, discovered, hasTool } = deps;
  const how = hasTool ? 'open one with Skill, or read its file' : 'read the file of one';
  const ahead = createAhead<readonly Skill[]>(deps.beside);
  const looked = new Set<string>();
  const prefetch = () => {
    for (const folder of foldersOf(toolState, root)) {
      if (looked.has(folder)) continue;
      ahead.look(folder, () =>
        loadSkills({ path: join(folder, '.claude', 'skills'), within: root }),
      );
    }
  };
  return {
    prefetch,
    source: async (_, signal) => {
      prefetch();
      const { finds: taken, errors } = await ahead.take(signal);
      sayFailures('nested skills', errors, deps.tell);
      for (const { place } of taken) looked.add(place);
      const known = foundSkillsOf(toolState);
      const found = taken.flatMap(({ found: inFolder }) => inFolder);
      const fresh = found.filter(
        ({ name, isForPeopleOnly }) =>
          !isForPeopleOnly && ![...skills, ...known].some((one) => one.name === name),
      );
      if (fresh.length === 0) return [];
      known.push(...fresh);
      for (const { name } of fresh) discovered.add(name);
      const lines = fresh.map(
        ({ name, description, path }) => `- ${name}: ${description} (${path})`,
      );
      const text = `Skills for the part of the project that you work in now (${how}):\n${lines.join('\n')}`;
      return [attachmentMessage(text, deps)];
    },
  };
}
