/** Slash commands that come from what people have written down. */
import { type Skill, skillText } from '../services/skills/load-skills.ts';
import type { Command } from './config.ts';

/** A person calls a skill by its name: its instructions become the prompt. */
export const skillCommands = (skills: readonly Skill[]): readonly Command[] =>
  skills.map((skill) => ({
    type: 'prompt',
    name: skill.name,
    description: skill.description,
    expand: async (argument) => {
      const text = await skillText(skill, argument);
      if (text === undefined) throw new Error(`the file of the skill ${skill.name} cannot be read`);
      return text;
    },
  }));
