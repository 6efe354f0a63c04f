/** The parameters of a host's tool: what a schema says of itself, and of an input that is wrong. */
import { isRecord } from '../services/is-record.ts';
import type { InputSchema } from '../services/tools/tool.ts';
import { UsageError } from './usage-error.ts';

/** More complaints than this do not help the model. */
const COMPLAINTS_MAX = 5;
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
export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };
export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
/** What the schema makes of an input. */
export type OutputOf<Schema extends ParameterSchema> = NonNullable<
  Schema['~standard']['types']
>['output'];

/** @throws UsageError with the tool's name. */
export function jsonSchemaOf(name: string, schema: ParameterSchema): InputSchema {
  const standard = (schema as ParameterSchema | null | undefined)?.['~standard'];
  const say = isRecord(standard) ? standard.jsonSchema?.input : undefined;
  if (!say) {
    throw new UsageError(
      `tool ${JSON.stringify(name)}: input: expected a schema that knows its JSON Schema: ` +
        'z.object({ … }) of zod 4.2 or newer',
    );
  }
  try {
    const { $schema: _, ...json } = say({ target: 'draft-2020-12' });
    return json as InputSchema; // checked with the rest of the tool
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`tool ${JSON.stringify(name)}: input has no JSON Schema: ${why}`);
  }
}

/** Each wrong parameter in words, then the parameters that there are. */
export function complaint(
  issues: readonly Issue[],
  { properties = {}, required = [] }: InputSchema,
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
