/** The heavy half of the tool Skill. */
import { activeSkillsOf } from '../recovery/active-skills.ts';
import { failed, type Implementation } from '../tools/define-tool.ts';
import { foundSkillsOf } from './found-skills.ts';
import { skillInput } from './inputs.ts';
import { type Skill, skillText } from './load-skills.ts';

/** What was opened is remembered, so that a summary does not make the model forget it. */
export const openSkill = (skills: readonly Skill[]): Implementation<typeof skillInput> => ({
  schema: skillInput,
  call: async ({ skill: name, args = '' }, { state }) => {
    const wanted = name.replace(/^\//, '');
    const usable = [...skills, ...foundSkillsOf(state)].filter(
      ({ isForPeopleOnly }) => !isForPeopleOnly,
    );
    const skill = usable.find((one) => one.name === wanted);
    if (!skill) {
      const names = usable.map((one) => one.name).join(', ') || 'none';
      return failed(`There is no skill ${wanted}. There are: ${names}.`);
    }
    const text = await skillText(skill, args);
    if (text === undefined) return failed(`The file of the skill ${wanted} cannot be read.`);
    activeSkillsOf(state).set(skill.name, text);
    return { content: text, data: { skill: skill.name, path: skill.path } };
  },
});
