/** A tool of the host in as few words as can be: what is not said is said by the careful default. */
import { RESULT_CHARS_MAX, TOOL_DEADLINE_MS } from '../services/tools/define-tool.ts';
import type { Tool, ToolContext, ToolInput, ToolOutput, Touches } from '../services/tools/tool.ts';
import { checkTools } from './check-tools.ts';
import {
  complaint,
  jsonSchemaOf,
  type OutputOf,
  type ParameterSchema,
} from './parameter-schema.ts';
import { UsageError } from './usage-error.ts';

/** Of what a call is about, for people. */
const GIST_CHARS_MAX = 80;

/** The words of a tool. Only the first four are needed. */
export interface OwnTool<Schema extends ParameterSchema> {
  /** `^[a-zA-Z0-9_-]{1,64}$`, and no other tool's. */
  readonly name: string;
  /** What the model reads to know when to call it. */
  readonly description: string;
  /** Its parameters: a zod object (4.2 or newer), or any Standard Schema that knows its JSON Schema. */
  readonly input: Schema;
  /**
   * Does it. A text, or an output with blocks, `isError`, `data`. *Contract:* obeys
   * `context.signal`; a throw is an error that the model reads.
   */
  run(
    input: OutputOf<Schema>,
    context: ToolContext,
  ): string | ToolOutput | Promise<string | ToolOutput>;
  /** It changes nothing: may run again after a crash. Default: `false`. */
  readonly isReadOnly?: boolean;
  /** May run beside others. Default: as `isReadOnly`. */
  readonly isConcurrencySafe?: boolean;
  /**
   * What a call touches, for the permission rules; `{ kind: 'nothing' }` is never asked about.
   * Default: nobody knows, so that each call asks unless a rule allows it.
   */
  readonly touches?: (input: ToolInput) => Touches;
  /** After so many milliseconds the call is answered with an error. Default: 120,000. */
  readonly deadlineMs?: number;
  /** Longer results go to a file of the session. Default: 50,000. */
  readonly maxResultSizeChars?: number;
  /** A few words for people about a call. Default: its first text. */
  readonly gist?: (input: ToolInput) => string;
}

/**
 * Makes a tool for the option `customTools`.
 * @throws UsageError with the tool's name when it cannot be one.
 *
 * @example
 * const weather = defineTool({
 *   name: 'Weather',
 *   description: 'The weather in a city, now.',
 *   input: z.object({ city: z.string() }),
 *   run: async ({ city }) => `It rains in ${city}.`,
 * });
 * query({ prompt, options: { customTools: [weather] } });
 */
export function defineTool<Schema extends ParameterSchema>(definition: OwnTool<Schema>): Tool {
  const { name, description, input: schema, run } = definition;
  const { isReadOnly = false, deadlineMs = TOOL_DEADLINE_MS, gist = firstText } = definition;
  const { isConcurrencySafe = isReadOnly, touches = () => ({ kind: 'unknown' }) } = definition;
  if (typeof run !== 'function') throw new UsageError(`tool ${JSON.stringify(name)} needs run()`);
  const inputSchema = jsonSchemaOf(name, schema);
  const validate = async (input: unknown) => schema['~standard'].validate(input);
  const tool: Tool = {
    ...{ name, description, inputSchema, touches, gist },
    maxResultSizeChars: definition.maxResultSizeChars ?? RESULT_CHARS_MAX,
    isReadOnly: () => isReadOnly,
    isConcurrencySafe: () => isConcurrencySafe,
    deadlineMs: () => deadlineMs,
    // As it came: what a schema makes of it (a date, a class) is for `run`, not for the host's JSON.
    parse: async (input) => {
      const { issues } = await validate(input);
      return issues
        ? { ok: false, message: complaint(issues, inputSchema) }
        : { ok: true, input: input as ToolInput };
    },
    // Once more: between `parse` and `call` a person or a hook may have changed it.
    call: async (input, context) => {
      const validated = await validate(input);
      if (validated.issues) {
        return { content: complaint(validated.issues, inputSchema), isError: true };
      }
      const output = await run.call(definition, validated.value as OutputOf<Schema>, context);
      return typeof output === 'string' ? { content: output } : output;
    },
  };
  checkTools([tool]);
  return tool;
}

const firstText = (input: ToolInput): string =>
  Object.values(input)
    .find((value) => typeof value === 'string')
    ?.slice(0, GIST_CHARS_MAX) ?? '';
