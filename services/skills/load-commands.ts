/** Slash commands that people keep as files: prompts with a name. */
import { type DefinitionFolder, definitionFiles } from './definition-files.ts';
import { textField } from './front-matter.ts';

export interface PromptCommand {
  readonly type: 'prompt';
  readonly name: string;
  readonly description: string;
  /** Shown to people: `<issue> [branch]`. */
  readonly argumentHint?: string;
  expand(argument: string): Promise<string>;
}

const DESCRIPTION_CHARS_MAX = 200;

/** `fix.md` becomes `/fix`, `web/test.md` becomes `/web:test`. */
export async function loadCommands(folder: DefinitionFolder): Promise<readonly PromptCommand[]> {
  const files = await definitionFiles(folder);
  return files.flatMap((file) => {
    if (file.body === '' || !/^[\w:.-]+$/.test(file.name)) return [];
    const argumentHint = textField(file, 'argument-hint');
    const [firstLine = ''] = file.body.split('\n');
    return [
      {
        type: 'prompt' as const,
        name: file.name,
        description: (textField(file, 'description') ?? firstLine).slice(0, DESCRIPTION_CHARS_MAX),
        ...(argumentHint === undefined ? {} : { argumentHint }),
        expand: async (argument: string) => expandTemplate(file.body, argument),
      },
    ];
  });
}

/**
 * `$ARGUMENTS` is all that was said after the command, `$1` … `$9` its words (quotes keep words
 * together). A template that names neither gets the arguments at its end. Pure, and done in one
 * pass: what stands in an argument is not expanded again.
 */
export function expandTemplate(template: string, argument: string): string {
  const words = [...argument.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
  let isUsed = false;
  const text = template.replace(/\$(ARGUMENTS|[1-9])(?!\w)/g, (_, which: string) => {
    isUsed = true;
    return which === 'ARGUMENTS' ? argument : (words[Number(which) - 1] ?? '');
  });
  return isUsed || argument === '' ? text : `${text}\n\n${argument}`;
}
