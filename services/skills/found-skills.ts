/** Skills that were found while the session ran, beside those that it began with. */
import type { ToolState } from '../tools/tool.ts';
import type { Skill } from './load-skills.ts';

/** In the order in which they were found. */
export const foundSkillsOf = (state: ToolState): Skill[] =>
  state.get('found-skills', (): Skill[] => []);
