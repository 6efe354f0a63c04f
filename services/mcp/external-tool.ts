/**
 * A tool of an MCP server as a tool of ours. How the server is reached is somebody else's matter.
 */
import { RESULT_CHARS_MAX } from '../tools/define-tool.ts';
import type { ParsedInput, Tool, ToolContext, ToolInput } from '../tools/tool.ts';
import { distinctName, externalToolName } from './names.ts';
import { outputOf } from './result.ts';
import { acceptSchema } from './schema.ts';

/** What `tools/list` says of a tool; whatever else it says is ignored. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly title?: string };
}

/** Calls the server. *Contract:* obeys the signal; rejects with words that the model can read. */
export type CallServer = (
  tool: string,
  input: ToolInput,
  options: { readonly signal: AbortSignal; readonly context: ToolContext },
) => Promise<unknown>;

export interface ExternalTools {
  readonly tools: readonly Tool[];
  /** Names each tool that was left out or changed, and why. */
  readonly warnings: readonly string[];
}

/** Servers describe themselves at length; all descriptions are in every request. */
const DESCRIPTION_CHARS_MAX = 4_000;
/** A server with more tools than this is broken. */
const TOOLS_MAX = 1_000;

/** All tools of one server, with names and schemas that the API accepts. */
export function externalTools(
  server: string,
  listed: readonly ListedTool[],
  call: CallServer,
  toolMs: number,
): ExternalTools {
  const tools = new Map<string, Tool>();
  const warnings: string[] = [];
  const warn = (name: string, why: string) => {
    warnings.push(`MCP server ${server}, tool ${JSON.stringify(name)}: ${why}`);
  };
  for (const one of listed.slice(0, TOOLS_MAX)) {
    const accepted = acceptSchema(one.inputSchema);
    if (!accepted.ok) {
      warn(one.name, `left out, ${accepted.why}`);
      continue;
    }
    for (const warning of accepted.warnings) warn(one.name, warning);
    const usual = externalToolName(server, one.name);
    const name = tools.has(usual) ? distinctName(usual, one.name) : usual;
    const { schema } = accepted;
    tools.set(name, externalTool({ ...{ name, server, listed: one, schema, call, toolMs } }));
  }
  if (listed.length > TOOLS_MAX)
    warnings.push(`MCP server ${server}: only ${TOOLS_MAX} tools are used`);
  return { tools: [...tools.values()], warnings };
}

interface Making {
  readonly name: string;
  readonly server: string;
  readonly listed: ListedTool;
  readonly schema: Tool['inputSchema'];
  readonly call: CallServer;
  readonly toolMs: number;
}

function externalTool({ name, server, listed, schema, call, toolMs }: Making): Tool {
  const isReadOnly = listed.annotations?.readOnlyHint === true;
  const about = listed.description?.trim() || `The tool ${listed.name} of ${server}.`;
  return {
    name,
    description:
      about.length <= DESCRIPTION_CHARS_MAX ? about : `${about.slice(0, DESCRIPTION_CHARS_MAX)} …`,
    inputSchema: schema,
    maxResultSizeChars: RESULT_CHARS_MAX,
    isExternal: true,
    parse: (input) => parse(input, schema),
    isConcurrencySafe: () => isReadOnly,
    isReadOnly: () => isReadOnly,
    touches: () => ({ kind: 'unknown' }),
    deadlineMs: () => toolMs,
    gist: (input) => gistOf(server, listed.name, input),
    async call(input, context) {
      const result = await call(listed.name, input, { signal: context.signal, context });
      return outputOf(result, context);
    },
  };
}

/** The rest is the server's to judge, by its own schema: ours may be wider. */
function parse(input: unknown, schema: Tool['inputSchema']): ParsedInput {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) {
    return { ok: false, message: 'the input is no JSON object' };
  }
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(input, name));
  if (missing.length === 0) return { ok: true, input: input as ToolInput };
  const names = missing.map((name) => JSON.stringify(name)).join(', ');
  return { ok: false, message: `missing: ${names}` };
}

function gistOf(server: string, tool: string, input: ToolInput): string {
  const first = Object.values(input).find((value) => typeof value === 'string');
  return `${server} ${tool}${first === undefined ? '' : ` ${first.slice(0, 80)}`}`;
}
