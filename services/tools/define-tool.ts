/**
 * How a built-in tool is defined: what the model and the executor must know at once stands in the
 * definition; the schema's library and the implementation are imported when the first call is
 * parsed (or by `preloadTools`, while the model still thinks). The JSON schema comes from a
 * generated file, so that starting up costs no zod.
 */
import type { z } from 'zod';
import type {
  InputSchema,
  ParsedInput,
  Tool,
  ToolContext,
  ToolInput,
  ToolOutput,
  Touches,
} from './tool.ts';

/** After this an ordinary tool is answered for: long enough for any file, short enough to wait. */
export const TOOL_DEADLINE_MS = 120_000;
/** Longer results go to a file of the session. */
export const RESULT_CHARS_MAX = 50_000;
/** More complaints than this do not help the model. */
const COMPLAINTS_MAX = 5;

/** The heavy half of a tool: its zod schema and what it does. */
export interface Implementation<Schema extends z.ZodType = z.ZodType> {
  /** A `z.strictObject`: unknown parameters are refused. */
  readonly schema: Schema;
  /** *Contract:* errors of operation are outputs with `isError`; a throw is a bug. */
  call(input: z.output<Schema>, context: ToolContext): Promise<ToolOutput>;
}

/** The cheap half of a tool. Each judgement is made on input that was parsed or still may be. */
export interface ToolDefinition<Schema extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  /** From `schemas.generated.ts`. */
  readonly inputSchema: InputSchema;
  /** Default: `RESULT_CHARS_MAX`. */
  readonly maxResultSizeChars?: number;
  /** Default: `TOOL_DEADLINE_MS`. */
  readonly deadlineMs?: (input: ToolInput) => number;
  readonly isReadOnly: (input: ToolInput) => boolean;
  /** Default: what is read-only may run beside others. */
  readonly isConcurrencySafe?: (input: ToolInput) => boolean;
  readonly touches: (input: ToolInput) => Touches;
  readonly gist: (input: ToolInput) => string;
  /** Imports the heavy half. Called once, again only after a failure. */
  readonly load: () => Promise<Implementation<Schema>>;
}

const preloads = new WeakMap<Tool, () => Promise<unknown>>();

/** Makes a tool of a definition. Imports nothing. */
export const defineTool = <Schema extends z.ZodType>(definition: ToolDefinition<Schema>): Tool => {
  const { name, inputSchema, isReadOnly } = definition;
  const load = once(definition.load);
  const tool: Tool = {
    name,
    description: definition.description,
    inputSchema,
    maxResultSizeChars: definition.maxResultSizeChars ?? RESULT_CHARS_MAX,
    isReadOnly,
    isConcurrencySafe: definition.isConcurrencySafe ?? isReadOnly,
    touches: definition.touches,
    gist: definition.gist,
    deadlineMs: definition.deadlineMs ?? (() => TOOL_DEADLINE_MS),
    parse: async (input) => parseWith((await load()).schema, input, inputSchema),
    // Parsed again: between `parse` and `call` a host or a hook may have changed the input.
    call: async (input, context) => {
      const implementation = await load();
      const parsed = implementation.schema.safeParse(input);
      return parsed.success
        ? implementation.call(parsed.data, context)
        : { content: complaint(parsed.error.issues, input, inputSchema), isError: true };
    },
  };
  preloads.set(tool, load);
  return tool;
};

/**
 * Imports the heavy halves of tools, one after the other, so that the first call need not wait.
 * *Contract:* never rejects; a tool that can not be loaded says so when it is called.
 */
export const preloadTools = async (tools: readonly Tool[]): Promise<void> => {
  for (const tool of tools)
    await preloads
      .get(tool)?.()
      .catch(() => undefined);
};

/** A text parameter of input that may not have been parsed; `''` when there is none. */
export const textOf = (input: ToolInput, parameter: string): string => {
  const value = input[parameter];
  return typeof value === 'string' ? value : '';
};

/** An output that tells the model what went wrong. */
export const failed = (message: string): ToolOutput => ({ content: message, isError: true });

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
};

const parseWith = (schema: z.ZodType, input: unknown, json: InputSchema): ParsedInput => {
  const parsed = schema.safeParse(input);
  if (!parsed.success) return { ok: false, message: complaint(parsed.error.issues, input, json) };
  return { ok: true, input: parsed.data as ToolInput };
};

/** Each missing, unexpected or wrong parameter in words, then the parameters that there are. */
const complaint = (
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  json: InputSchema,
): string => {
  const said = issues.slice(0, COMPLAINTS_MAX).map((issue) => sayIssue(issue, input));
  if (issues.length > said.length) said.push(`and ${issues.length - said.length} more`);
  const required = new Set(json.required);
  const parameters = Object.keys(json.properties ?? {})
    .map((key) => (required.has(key) ? key : `${key}?`))
    .join(', ');
  return `Invalid input: ${said.join('; ')}. Parameters: ${parameters}.`;
};

const sayIssue = (issue: z.core.$ZodIssue, input: unknown): string => {
  const place = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    const within = place === '' ? '' : ` in \`${place}\``;
    return `unexpected parameter ${issue.keys.map((key) => `\`${key}\``).join(', ')}${within}`;
  }
  if (place === '') return 'the input must be an object';
  if (issue.code === 'invalid_type' && valueAt(input, issue.path) === undefined) {
    return `missing parameter \`${place}\` (${issue.expected})`;
  }
  return `\`${place}\`: ${issue.message.replace(/^Invalid (input|option): /, '')}`;
};

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    input,
  );
