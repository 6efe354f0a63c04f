/** The answer in a wanted shape: a tool whose input is the schema, and a strict look at it. */
import { RESULT_CHARS_MAX } from '../services/tools/define-tool.ts';
import type { Tool, ToolInput } from '../services/tools/tool.ts';
import { UsageError } from './usage-error.ts';

export const STRUCTURED_OUTPUT = 'StructuredOutput';
/** Nothing is waited for but the loading of the validator. */
const VALIDATE_MS = 10_000;
const ISSUES_MAX = 10;

type Schema = Readonly<Record<string, unknown>>;
const COMBINED = ['oneOf', 'anyOf', 'allOf'];

/** The API takes plain objects only: any other shape is asked for as the field of one. */
const isPlainObject = (schema: Schema): boolean =>
  (schema.type === undefined || schema.type === 'object') &&
  !COMBINED.some((keyword) => keyword in schema);

/** What the host is given of an accepted call. */
export const structuredValue = (schema: Schema, input: ToolInput): unknown =>
  isPlainObject(schema) ? input : input.value;

/** @throws UsageError when the schema is none: before the model is asked, and not five times. */
export async function checkOutputSchema(schema: Schema): Promise<void> {
  try {
    await compile(schema);
  } catch (error) {
    throw new UsageError(`the output schema cannot be used: ${(error as Error).message}`);
  }
}

/** Validated by ajv: zod's reading of JSON Schema is wrong for schemas without a type. */
export function structuredOutputTool(wanted: Schema): Tool {
  const schema: Schema = isPlainObject(wanted)
    ? wanted
    : { properties: { value: wanted }, required: ['value'], additionalProperties: false };
  let validator: Promise<(value: unknown) => string | undefined> | undefined;
  return {
    name: STRUCTURED_OUTPUT,
    description:
      'Gives the final answer in the shape that is wanted. Call it once, when the work is done.',
    inputSchema: { ...schema, type: 'object' },
    maxResultSizeChars: RESULT_CHARS_MAX,
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
    // The value is taken by the executor, which knows what really ran.
    call: async () => ({ content: 'Accepted. The answer is complete.' }),
  };
}

async function compile(schema: Schema) {
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
