/** The answer in a wanted shape: a tool whose input is the schema, and a strict look at it. */
import type { Tool, ToolInput } from '../services/tools/tool.ts';
import type { Turn } from './turn.ts';

export const STRUCTURED_OUTPUT = 'StructuredOutput';
/** A validator that takes longer than this was given an evil pattern. */
const VALIDATE_MS = 10_000;
const ISSUES_MAX = 10;

/** Validated by ajv: zod's reading of JSON Schema is wrong for schemas without a type. */
export function structuredOutputTool(schema: Readonly<Record<string, unknown>>, turn: Turn): Tool {
  let validator: Promise<(value: unknown) => string | undefined> | undefined;
  return {
    name: STRUCTURED_OUTPUT,
    description:
      'Gives the final answer in the shape that is wanted. Call it once, when the work is done.',
    inputSchema: { ...schema, type: 'object' },
    maxResultSizeChars: 50_000,
    parse: async (input) => {
      validator ??= compile(schema);
      const wrong = (await validator)(input);
      return wrong === undefined
        ? { ok: true, input: input as ToolInput }
        : { ok: false, message: wrong };
    },
    isConcurrencySafe: () => true,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => VALIDATE_MS,
    gist: () => 'final answer',
    call: async (input) => {
      turn.structuredOutput = input;
      return { content: 'Accepted. The answer is complete.' };
    },
  };
}

async function compile(schema: Readonly<Record<string, unknown>>) {
  const [{ Ajv2020 }, formats] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv-formats'),
  ]);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default.default(ajv);
  // The 2020 instance does not know older drafts by name; their keywords it reads all the same.
  const { $schema: _, ...plain } = schema;
  const validate = ajv.compile(plain);
  return (value: unknown): string | undefined => {
    if (validate(value)) return undefined;
    return (validate.errors ?? [])
      .slice(0, ISSUES_MAX)
      .map(({ instancePath, message, params }) => {
        const extra =
          'additionalProperty' in params ? ` (${String(params.additionalProperty)})` : '';
        return `${instancePath || '(top)'}: ${message}${extra}`;
      })
      .join('; ');
  };
}
