/** Prompts of a server as slash commands: `/mcp__<server>__<prompt> arguments`. */
import { externalToolName } from './names.ts';

type Json = Readonly<Record<string, unknown>>;

/** A command that becomes a prompt. */
export interface PromptCommand {
  readonly type: 'prompt';
  readonly name: string;
  readonly description: string;
  /** `<city> [day]`: its parameters. */
  readonly argumentHint?: string;
  /** @throws when an argument is missing or the server refuses. */
  readonly expand: (argument: string) => Promise<string>;
}

/** Asks the server for a prompt with its arguments filled in. */
export type GetPrompt = (name: string, input: Readonly<Record<string, string>>) => Promise<unknown>;

/** What cannot be used is left out. */
export const promptCommands = (
  server: string,
  listed: readonly Json[],
  get: GetPrompt,
): readonly PromptCommand[] =>
  listed.flatMap((prompt) => {
    const { name, description } = prompt;
    if (typeof name !== 'string') return [];
    const parameters = parametersOf(prompt.arguments);
    const usage = parameters.map((one) => (one.isRequired ? `<${one.name}>` : `[${one.name}]`));
    const about =
      typeof description === 'string' ? description : `The prompt ${name} of ${server}.`;
    return [
      {
        type: 'prompt' as const,
        name: externalToolName(server, name),
        description: about,
        ...(usage.length > 0 ? { argumentHint: usage.join(' ') } : {}),
        expand: async (argument: string) => textOf(await get(name, inputOf(argument, parameters))),
      },
    ];
  });

interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
}

const parametersOf = (value: unknown): readonly Parameter[] =>
  (Array.isArray(value) ? value : []).flatMap((one: unknown) => {
    const { name, required } = (one ?? {}) as { name?: unknown; required?: unknown };
    return typeof name === 'string' ? [{ name, isRequired: required === true }] : [];
  });

/** A word for each parameter, the rest of the line for the last one. */
function inputOf(
  argument: string,
  parameters: readonly Parameter[],
): Readonly<Record<string, string>> {
  const input: Record<string, string> = {};
  let rest = argument.trim();
  for (const [index, { name, isRequired }] of parameters.entries()) {
    const isLast = index === parameters.length - 1;
    const word = isLast ? rest : (/^\S+/.exec(rest)?.[0] ?? '');
    rest = rest.slice(word.length).trimStart();
    if (word !== '') input[name] = word;
    else if (isRequired) throw new Error(`the argument ${name} is missing`);
  }
  return input;
}

/** The texts of all its messages; what is no text is named. */
function textOf(result: unknown): string {
  const { messages } = (result ?? {}) as { messages?: unknown };
  const texts = (Array.isArray(messages) ? messages : []).map((message: unknown) => {
    const { content } = (message ?? {}) as { content?: unknown };
    const { type, text, resource } = (content ?? {}) as {
      type?: unknown;
      text?: unknown;
      resource?: { text?: unknown; uri?: unknown };
    };
    if (typeof text === 'string') return text;
    if (typeof resource?.text === 'string') {
      return `Resource ${String(resource.uri)}:\n${resource.text}`;
    }
    return `(${String(type)} left out)`;
  });
  const joined = texts.join('\n\n').trim();
  if (joined === '') throw new Error('the server gave an empty prompt');
  return joined;
}
