/** Skills that were found while the session ran, beside those that it began with. */
import type { Tool, ToolState } from '../tools/tool.ts';
import type { Skill } from './load-skills.ts';

/** In the order in which they were found. */
export const foundSkillsOf = (state: ToolState): Skill[] =>
  state.get('found-skills', (): Skill[] => []);

/**
 * A session that begins without skills has no tool to open one: it comes with the first that is
 * found. That costs the cached prompt once; a tool for nothing would cost a bit of every session.
 */
export const laterSkillTool = (session: {
  readonly skillTool?: Tool;
  readonly readFileCache: ToolState;
}): readonly Tool[] =>
  session.skillTool && foundSkillsOf(session.readFileCache).length > 0 ? [session.skillTool] : [];
