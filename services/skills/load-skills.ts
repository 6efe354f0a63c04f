/** Skills: instructions for a kind of work, of which the model sees one line until it needs them. */
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DEFINITIONS_MAX } from '../memory/limits.ts';
import { readInstruction } from '../memory/read-instruction.ts';
import { clipEnd } from '../tools/process/clip.ts';
import type { DefinitionFolder } from './definition-files.ts';
import { listField, parseFrontMatter, textField } from './front-matter.ts';

export interface Skill {
  readonly name: string;
  /** What it is for and when: all that is known of it at first. */
  readonly description: string;
  /** Its `SKILL.md`. */
  readonly path: string;
  /** With what it refers to; the model may read here. */
  readonly folder: string;
  readonly within?: string;
  readonly allowedTools?: readonly string[];
  /** Only a person calls it. */
  readonly isForPeopleOnly: boolean;
}

const DESCRIPTION_CHARS_MAX = 500;

/** `<folder>/<name>/SKILL.md` of each. A skill that does not say what it is for is none. */
export async function loadSkills(folder: DefinitionFolder): Promise<readonly Skill[]> {
  const entries = await readdir(folder.path).catch(() => []);
  const skills = await Promise.all(
    [...entries]
      .sort()
      .slice(0, DEFINITIONS_MAX)
      .map((entry) => loadSkill(folder, entry)),
  );
  return skills.flat();
}

async function loadSkill(folder: DefinitionFolder, entry: string): Promise<readonly Skill[]> {
  const path = join(folder.path, entry, 'SKILL.md');
  const { within, prefix } = folder;
  const file = await readInstruction(path, within);
  if (!file) return [];
  const matter = await parseFrontMatter(file.text);
  const description = textField(matter, 'description');
  if (description === undefined) return [];
  const own = textField(matter, 'name') ?? entry;
  const allowedTools = listField(matter, 'allowed-tools');
  return [
    {
      name: prefix === undefined ? own : `${prefix}:${own}`,
      description: clipEnd(description.replace(/\s+/g, ' '), DESCRIPTION_CHARS_MAX),
      path,
      folder: dirname(file.realPath),
      ...(within === undefined ? {} : { within }),
      ...(allowedTools ? { allowedTools } : {}),
      isForPeopleOnly: matter.fields['disable-model-invocation'] === true,
    },
  ];
}

/** The instructions themselves, read now. `undefined`: the file has gone. */
export async function skillText(skill: Skill, argument: string): Promise<string | undefined> {
  const file = await readInstruction(skill.path, skill.within);
  if (!file) return undefined;
  const { body } = await parseFrontMatter(file.text);
  const asked = argument === '' ? '' : `\n\nArguments: ${argument}`;
  return `Skill ${skill.name}. Its folder, for what it refers to: ${skill.folder}\n\n${body}${asked}`;
}
