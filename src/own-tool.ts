/** A tool of the host in as few words as can be: what is not said is said by the careful default. */
import { isRecord } from '../services/is-record.ts';
import { RESULT_CHARS_MAX, TOOL_DEADLINE_MS } from '../services/tools/define-tool.ts';
import type { Tool, ToolContext, ToolInput, ToolOutput, Touches } from '../services/tools/tool.ts';
import { checkTools } from './check-tools.ts';
import { UsageError } from './usage-error.ts';

/** More complaints than this do not help the model. */
const COMPLAINTS_MAX = 5;
/** Of what a call is about, for people. */
const GIST_CHARS_MAX = 80;

/** What a schema says of a value: the "Standard Schema" that zod and others share. */
export interface ParameterSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    /** Says itself as JSON Schema: zod does from 4.2 on. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}
type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
type OutputOf<Schema extends ParameterSchema> = NonNullable<Schema['~standard']['types']>['output'];

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

function jsonSchemaOf(name: string, schema: ParameterSchema): Tool['inputSchema'] {
  const standard: unknown = isRecord(schema) ? schema['~standard'] : undefined;
  const say = isRecord(standard) ? (schema['~standard'].jsonSchema?.input ?? undefined) : undefined;
  if (!say) {
    throw new UsageError(
      `tool ${JSON.stringify(name)}: input: expected a schema that knows its JSON Schema: ` +
        'z.object({ … }) of zod 4.2 or newer',
    );
  }
  try {
    const { $schema: _, ...json } = say({ target: 'draft-2020-12' });
    return json as Tool['inputSchema']; // checked with the rest of the tool
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`tool ${JSON.stringify(name)}: input has no JSON Schema: ${why}`);
  }
}

/** Each wrong parameter in words, then the parameters that there are. */
function complaint(
  issues: readonly Issue[],
  { properties = {}, required = [] }: Tool['inputSchema'],
) {
  const said = issues.slice(0, COMPLAINTS_MAX).map(({ message, path = [] }) => {
    const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
    const words = message.replace(/^Invalid (input|option): /, '');
    return steps.length === 0 ? words : `\`${steps.join('.')}\`: ${words}`;
  });
  if (issues.length > said.length) said.push(`and ${issues.length - said.length} more`);
  const parameters = Object.keys(properties)
    .map((key) => (required.includes(key) ? key : `${key}?`))
    .join(', ');
  return `Invalid input: ${said.join('; ')}. Parameters: ${parameters}.`;
}

const firstText = (input: ToolInput): string =>
  Object.values(input)
    .find((value) => typeof value === 'string')
    ?.slice(0, GIST_CHARS_MAX) ?? '';
