/** The tool that opens a skill, cheap to make. */
import { defineTool, textOf } from '../tools/define-tool.ts';
import { toolSchemas } from '../tools/schemas.generated.ts';
import type { Tool } from '../tools/tool.ts';
import type { Skill } from './load-skills.ts';

/** One line for each skill, all of them together: what a prompt can spare. */
const LIST_CHARS_MAX = 8_000;

/** @param skills with which the session begins: the list stays the same, for the cache. */
export const skillTool = (skills: readonly Skill[]): Tool =>
  defineTool({
    name: 'Skill',
    description: describe(skills.filter(({ isForPeopleOnly }) => !isForPeopleOnly)),
    inputSchema: toolSchemas.Skill,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    gist: (input) => textOf(input, 'skill'),
    load: async () => (await import('./open-skill.ts')).openSkill(skills),
  });

function describe(skills: readonly Skill[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    chars += line.length + 1;
    if (chars > LIST_CHARS_MAX) {
      lines.push(`(${skills.length - lines.length} more)`);
      break;
    }
    lines.push(line);
  }
  return [
    'Opens instructions for a kind of work. When the task is one of these, open them first:',
    ...lines,
  ].join('\n');
}
