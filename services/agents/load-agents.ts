/** Agents that people keep as files: the head says what for, the text is the system prompt. */
import { type DefinitionFolder, definitionFiles } from '../skills/definition-files.ts';
import { listField, textField } from '../skills/front-matter.ts';
import type { AgentDefinition } from './agent-definition.ts';

/** A file without a description or a text defines nothing. */
export async function loadAgents(folder: DefinitionFolder): Promise<readonly AgentDefinition[]> {
  const files = await definitionFiles(folder);
  return files.flatMap((file) => {
    const description = textField(file, 'description');
    if (description === undefined || file.body === '') return [];
    const own = textField(file, 'name');
    const name = own === undefined ? file.name : prefixed(own, folder.prefix);
    const tools = listField(file, 'tools');
    const disallowedTools = listField(file, 'disallowedTools');
    const model = textField(file, 'model');
    const maxTurns = Number(textField(file, 'maxTurns'));
    return [
      {
        name,
        description,
        prompt: file.body,
        ...(tools ? { tools } : {}),
        ...(disallowedTools ? { disallowedTools } : {}),
        ...(model === undefined ? {} : { model }),
        ...(Number.isSafeInteger(maxTurns) && maxTurns > 0 ? { maxTurns } : {}),
      },
    ];
  });
}

const prefixed = (name: string, prefix: string | undefined): string =>
  prefix === undefined ? name : `${prefix}:${name}`;
