/**
 * Tools of a host, looked at when they are given: the API would refuse every request because of one
 * that it does not like, and what it says then does not name the tool's place.
 */
import { isRecord } from '../services/is-record.ts';
import type { Tool } from '../services/tools/tool.ts';
import { isFunction, shown } from './checks.ts';
import type { MCPServerConnection } from './config.ts';
import { UsageError } from './usage-error.ts';

/** The API takes 128 characters now and took 64 for long; gateways still do. */
const legalName = /^[a-zA-Z0-9_-]{1,64}$/;
/** What the API does not take at the top of a schema. */
const combined = ['oneOf', 'anyOf', 'allOf', '$ref'];
const methods = [
  ...['parse', 'isConcurrencySafe', 'isReadOnly', 'touches', 'deadlineMs', 'gist', 'call'],
] as const satisfies readonly (keyof Tool)[];

/**
 * @param servers those that are connected already. Two of them may offer the same name: which one
 * stays is settled, and told, where they are offered.
 * @throws UsageError naming the tool and what is wrong with it.
 */
export function checkTools(
  tools: readonly Tool[],
  servers: readonly Pick<MCPServerConnection, 'name' | 'tools'>[] = [],
): void {
  const known = new Set<string>();
  const look = (tool: Tool, place: string) => {
    const problem = problemOf(tool) ?? (known.has(tool.name) ? isTaken : undefined);
    if (problem !== undefined) throw new UsageError(`${place} ${shown(nameOf(tool))} ${problem}`);
  };
  for (const tool of tools) {
    look(tool, 'tool');
    known.add(tool.name);
  }
  for (const { name, tools: offered } of servers) {
    for (const tool of offered) look(tool, `server ${name}: tool`);
  }
}

const isTaken = 'has the name of another tool, and the API takes a name once: rename it';

const nameOf = (tool: unknown): string =>
  isRecord(tool) && typeof tool.name === 'string' ? tool.name : '';

/** What is wrong with a tool; `undefined` when nothing is. */
function problemOf(tool: unknown): string | undefined {
  if (!isRecord(tool)) return `is ${shown(tool)}: make it with defineTool()`;
  if (!legalName.test(nameOf(tool))) {
    return 'needs a name of 1 to 64 letters, digits, _ and - (the API takes no other)';
  }
  if (typeof tool.description !== 'string') return 'needs a description: the model reads it';
  const absent = methods.find((method) => !isFunction(tool[method]));
  if (absent !== undefined) return `needs ${absent}(), or make it with defineTool()`;
  const { maxResultSizeChars } = tool;
  if (typeof maxResultSizeChars !== 'number' || !(maxResultSizeChars > 0)) {
    return `needs a maxResultSizeChars above 0, not ${shown(maxResultSizeChars)}`;
  }
  return schemaProblem(tool.inputSchema) ?? deadlineProblem(tool as unknown as Tool);
}

function schemaProblem(schema: unknown): string | undefined {
  if (!isRecord(schema)) return `needs an inputSchema that is an object, not ${shown(schema)}`;
  if (schema.type !== 'object') {
    return `needs an inputSchema of type "object", not ${shown(schema.type)}: parameters have names`;
  }
  const odd = combined.find((keyword) => schema[keyword] !== undefined);
  if (odd !== undefined) return `has an inputSchema with ${odd} at the top, which the API refuses`;
  try {
    JSON.stringify(schema);
    return undefined;
  } catch (error) {
    const [why] = String((error as Error).message).split('\n');
    return `has an inputSchema that is no JSON: ${why}`;
  }
}

/** Asked for an input that it may not understand: a throw says nothing yet. */
function deadlineProblem(tool: Tool): string | undefined {
  let deadlineMs: unknown;
  try {
    deadlineMs = tool.deadlineMs({});
  } catch {
    return undefined;
  }
  return typeof deadlineMs === 'number' && deadlineMs > 0
    ? undefined
    : `has a deadlineMs() that gives ${shown(deadlineMs)}: milliseconds above 0 are needed`;
}
