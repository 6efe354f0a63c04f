/** Instructions of skills that the work uses: a summary must not make the model forget them. */
import type { ToolState } from '../tools/tool.ts';

/** Texts by name of the skill, in the order of first use. The tool that loads a skill writes here. */
export const activeSkillsOf = (state: ToolState): Map<string, string> =>
  state.get('skills', () => new Map<string, string>());
