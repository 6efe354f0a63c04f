/**
 * Makes the schema of an external tool one that the API accepts. A single bad one would have the
 * API refuse every request of the session, and dropping all tools of its server would be as bad.
 * The server still validates against its own schema, so this one may be wider, never narrower.
 */
import { isRecord, recordOf } from '../is-record.ts';
import type { InputSchema } from '../tools/tool.ts';

export type AcceptedSchema =
  | { readonly ok: true; readonly schema: InputSchema; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** Above this a schema is reduced to the names and types of its parameters. */
const SCHEMA_CHARS_MAX = 100_000;
/** The API's rule for the keys of `properties`. */
const legalKey = /^[a-zA-Z0-9_.-]{1,64}$/;
/** References to references: more is a circle. */
const REFERENCES_MAX = 10;
/** Branches that are looked at in all: eight that each name all eight would be 8 to the 10th. */
const BRANCHES_MAX = 500;

type Json = Readonly<Record<string, unknown>>;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const namesOf = (value: unknown): readonly string[] =>
  listOf(value).filter((name) => typeof name === 'string');

/** *Contract:* never throws; a schema that takes objects and is legal comes back as it is. */
export function acceptSchema(given: unknown): AcceptedSchema {
  if (given === undefined || given === null) return accepted({ type: 'object', properties: {} });
  if (!isRecord(given)) return { ok: false, why: 'its input schema is no object' };
  try {
    return acceptObject(given);
  } catch (error) {
    // The only way to fail that is left: JSON of a depth that the stack does not have.
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, why: 'its input schema is nested too deep' };
  }
}

function acceptObject(given: Json): AcceptedSchema {
  const flat = flatten(given, { document: given, branchesLeft: BRANCHES_MAX }, REFERENCES_MAX);
  const type = flat.type;
  const takesObjects =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (!takesObjects) return { ok: false, why: `its input is of type ${JSON.stringify(type)}` };

  const { schema, warnings } = withLegalKeys({ ...flat, type: 'object' });
  const size = JSON.stringify(schema).length;
  if (size <= SCHEMA_CHARS_MAX) return { ok: true, schema, warnings };
  const note = `its input schema has ${size} characters and was reduced to names and types`;
  return accepted(reduced(schema), [...warnings, note]);
}

const accepted = (schema: InputSchema, warnings: readonly string[] = []): AcceptedSchema => ({
  ...{ ok: true, schema, warnings },
});

/** What references lead into, and how much may still be looked at. */
interface Root {
  readonly document: Json;
  branchesLeft: number;
}

/**
 * What the API refuses at the top: combined there into one object, so that nothing is forbidden.
 */
function flatten(schema: Json, root: Root, referencesLeft: number): Json {
  root.branchesLeft -= 1;
  const target = schema.$ref;
  if (typeof target === 'string' && referencesLeft > 0) {
    const { $ref: _, ...rest } = schema;
    const found = flatten(recordOf(at(root.document, target)), root, referencesLeft - 1);
    return flatten({ ...found, ...rest }, root, referencesLeft - 1);
  }
  const { allOf, anyOf, oneOf, not, if: _if, then, else: _else, enum: _enum, ...rest } = schema;
  const isPlain = [allOf, anyOf, oneOf, not, _if, then, _else, _enum].every((x) => x === undefined);
  if (isPlain) return schema;
  if (referencesLeft === 0 || root.branchesLeft <= 0) return rest;
  const flat = (branch: unknown) => flatten(recordOf(branch), root, referencesLeft - 1);
  const all = [rest, ...listOf(allOf).map(flat)];
  const any = [...listOf(anyOf), ...listOf(oneOf)].map(flat);
  const conditional = [then, _else].filter((x) => x !== undefined).map(flat);
  const objects = any.filter((branch) => branch.type === undefined || branch.type === 'object');
  return {
    ...Object.assign({}, ...all),
    properties: mergedProperties([...all, ...objects, ...conditional]),
    required: [
      ...new Set([...all.flatMap((part) => namesOf(part.required)), ...requiredByEach(objects)]),
    ],
    // A branch may allow what the top forbids.
    ...(all.length + any.length + conditional.length > 1 ? { additionalProperties: true } : {}),
  };
}

/** The same name in several branches: any of its schemas. */
function mergedProperties(parts: readonly Json[]): Json {
  const byName = new Map<string, Map<string, unknown>>();
  for (const part of parts) {
    for (const [name, schema] of Object.entries(recordOf(part.properties))) {
      const known = byName.get(name) ?? new Map<string, unknown>();
      byName.set(name, known.set(JSON.stringify(schema), schema));
    }
  }
  return Object.fromEntries(
    [...byName].map(([name, schemas]) => {
      const [first, ...others] = schemas.values();
      return [name, others.length === 0 ? first : { anyOf: [first, ...others] }];
    }),
  );
}

const requiredByEach = (branches: readonly Json[]): readonly string[] => {
  const [first, ...others] = branches.map((branch) => namesOf(branch.required));
  return (first ?? []).filter((name) => others.every((names) => names.includes(name)));
};

/** `#/$defs/x/y` within the same document. */
function at(root: Json, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  const steps = reference.slice(1).split('/').filter(Boolean);
  return steps.reduce<unknown>(
    (place, step) => recordOf(place)[step.replaceAll('~1', '/').replaceAll('~0', '~')],
    root,
  );
}

function withLegalKeys(schema: Json & { type: 'object' }): {
  schema: InputSchema;
  warnings: readonly string[];
} {
  const given = recordOf(schema.properties);
  const odd = Object.keys(given).filter((key) => !legalKey.test(key));
  const { properties, required, ...rest } = schema;
  const kept = Object.fromEntries(Object.entries(given).filter(([key]) => !odd.includes(key)));
  const names = namesOf(required).filter((name) => !odd.includes(name));
  return {
    schema: {
      ...rest,
      ...(properties === undefined ? {} : { properties: kept }),
      ...(required === undefined ? {} : { required: names }),
    },
    warnings: odd.map(
      (key) => `its parameter ${JSON.stringify(key)} has a name that the API refuses`,
    ),
  };
}

function reduced(schema: InputSchema): InputSchema {
  const properties = Object.entries(recordOf(schema.properties)).map(([name, inner]) => {
    const { type } = recordOf(inner);
    return [name, type === undefined ? {} : { type }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(schema.required ? { required: schema.required } : {}),
  };
}
