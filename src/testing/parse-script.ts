/** Scripts from JSON: checked, with words for each mistake that say where and what to do. */
import type { z } from 'zod';
import { isRecord } from '../../services/is-record.ts';
import { messageOf } from '../../services/message-of.ts';
import { planMessage } from './plan-message.ts';
import type { Script, Step } from './script.ts';

/** One mistake in a script. */
export interface ScriptProblem {
  /** JSON path: `$.replies[2].fault.after`. */
  readonly path: string;
  readonly message: string;
  /** What to write instead. */
  readonly remedy: string;
}

export type ParsedScript =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly problems: readonly ScriptProblem[] };

type Issue = z.core.$ZodIssue;

/** JSON Schema (2020-12) of scripts, as it lies in `script.schema.json`. */
export async function scriptJsonSchema(): Promise<Record<string, unknown>> {
  const [{ z }, { scriptSchema }] = await Promise.all([
    import('zod'),
    import('./script-schema.ts'),
  ]);
  return { ...z.toJSONSchema(scriptSchema, { io: 'input' }) };
}

/**
 * Checks a script that came as JSON.
 *
 * @example
 * const parsed = await parseScript(JSON.parse(await readFile('script.json', 'utf8')));
 * if (!parsed.ok) for (const { path, message, remedy } of parsed.problems) …
 */
export async function parseScript(value: unknown): Promise<ParsedScript> {
  const { asScript, scriptSchema } = await import('./script-schema.ts');
  const parsed = scriptSchema.safeParse(value);
  if (!parsed.success) {
    const fields = fieldNames(await scriptJsonSchema());
    const problems = parsed.error.issues
      .flatMap((issue) => sharpest(issue))
      .map((issue) => problemOf(issue, value, fields));
    return { ok: false, problems };
  }
  const script = asScript(parsed.data);
  const problems = impossibleStreams(script);
  return problems.length === 0 ? { ok: true, script } : { ok: false, problems };
}

/** The same for a text that should be JSON. */
export async function parseScriptText(text: string): Promise<ParsedScript> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const message = messageOf(error);
    const remedy = `make it JSON${placeInText(text, message)}: no comments, no trailing commas`;
    return { ok: false, problems: [{ path: '$', message, remedy }] };
  }
  return parseScript(value);
}

function placeInText(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const before = text.slice(0, Number(position)).split('\n');
  return ` (see line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`;
}

/**
 * Of a union's mistakes only those of the branch that was meant: the one whose kind of value is
 * there at all, and of those the one with the least to complain about.
 */
function sharpest(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const branches = issue.errors.map((branch) => branch.flatMap((inner) => sharpest(inner)));
  const meant = branches
    .filter((branch) => !branch.some(isOtherKind))
    .sort((one, other) => one.length - other.length)[0];
  const given = meant ?? branches.find((branch) => branch.some(({ code }) => isChoice(code)));
  return (given ?? branches[0] ?? []).map((inner) => ({
    ...inner,
    path: [...issue.path, ...inner.path],
  }));
}

const isChoice = (code: Issue['code']): boolean => code === 'invalid_value';
/** Not a worse value of this branch, but the value of another one. */
const isOtherKind = ({ code, path }: Issue): boolean =>
  path.length === 0 && (code === 'invalid_type' || isChoice(code));

function problemOf(issue: Issue, value: unknown, fields: ReadonlySet<string>): ScriptProblem {
  const found = { path: pathText(issue.path), message: issue.message };
  switch (issue.code) {
    case 'unrecognized_keys': {
      const meant = issue.keys
        .map((key) => nearest(key, fields))
        .filter((key) => key !== undefined);
      const remedy =
        meant.length > 0
          ? `did you mean ${meant.map((key) => `"${key}"`).join(', ')}?`
          : 'leave it out; --schema shows the fields that there are';
      return { ...found, remedy };
    }
    case 'invalid_union': {
      const options = (issue as { options?: readonly unknown[] }).options ?? [];
      const is = JSON.stringify(valueAt(value, issue.path));
      return {
        ...found,
        message: is === undefined ? 'is missing' : `${is} is none of the kinds there are`,
        remedy: `write one of ${options.map((option) => JSON.stringify(option)).join(', ')}`,
      };
    }
    case 'invalid_type': {
      const isMissing = valueAt(value, issue.path) === undefined;
      return {
        ...found,
        message: isMissing ? 'is missing' : issue.message,
        remedy: `${isMissing ? 'add' : 'make it'} ${article(issue.expected)}`,
      };
    }
    case 'invalid_value':
      return {
        ...found,
        remedy: `write one of ${issue.values.map((option) => JSON.stringify(option)).join(', ')}`,
      };
    case 'too_small':
      return { ...found, remedy: `write at least ${issue.minimum}` };
    case 'too_big':
      return { ...found, remedy: `write at most ${issue.maximum}` };
    default:
      return { ...found, remedy: '--schema shows what can stand here' };
  }
}

const article = (type: string): string =>
  /^[aeio]/.test(type) && type !== 'int'
    ? `an ${type}`
    : `a ${type === 'int' ? 'whole number' : type}`;

const pathText = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`),
    '$',
  );

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = Reflect.get(at, key);
  }
  return at;
}

/** Every field that a script can have, anywhere. */
function fieldNames(schema: unknown, names = new Set<string>()): Set<string> {
  if (Array.isArray(schema)) for (const part of schema) fieldNames(part, names);
  if (!isRecord(schema)) return names;
  for (const [key, part] of Object.entries(schema)) {
    if (key === 'properties' && isRecord(part))
      for (const name of Object.keys(part)) names.add(name);
    fieldNames(part, names);
  }
  return names;
}

/** A field that differs by two letters at most. */
const TYPOS_MAX = 2;

function nearest(key: string, fields: ReadonlySet<string>): string | undefined {
  const byDistance = [...fields]
    .map((field) => ({ field, typos: distance(key.toLowerCase(), field.toLowerCase()) }))
    .sort((one, other) => one.typos - other.typos)[0];
  return byDistance && byDistance.typos <= TYPOS_MAX ? byDistance.field : undefined;
}

/** Letters to add, drop or change to get from one word to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (const [at, other] of [...to].entries()) {
      const change = (row[at] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Faults and inserts at places that the stream does not have: found now, not in the middle. */
function impossibleStreams(script: Script): ScriptProblem[] {
  const lists: Record<string, readonly Step[] | undefined> = {
    replies: script.replies,
    compactions: script.compactions,
    collapses: script.collapses,
    toolSummaries: script.toolSummaries,
    hookAgents: script.hookAgents,
  };
  const placed = Object.entries(lists).flatMap(([list, steps = []]) =>
    steps.map((step, at) => ({ step, path: `$.${list}[${at}]` })),
  );
  if (script.whenExhausted) placed.push({ step: script.whenExhausted, path: '$.whenExhausted' });
  return placed.flatMap(({ step, path }) => {
    if (typeof step !== 'object' || step.kind !== 'message') return [];
    const facts = { id: 'msg', model: 'model', usage: {}, nextToolUseId: () => 'toolu' };
    const plan = planMessage(step, facts);
    if (plan.ok) return [];
    const remedy = 'name a place that this reply has';
    return [{ path: `${path}.${plan.field}`, message: plan.problem, remedy }];
  });
}
