/** Resources of servers, as two tools that are there when a server has some. */
import { messageOf } from '../message-of.ts';
import { RESULT_CHARS_MAX } from '../tools/define-tool.ts';
import type { Tool, ToolContext, ToolInput, ToolOutput } from '../tools/tool.ts';
import { outputOf } from './result.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ResourceAccess {
  list(signal: AbortSignal): Promise<readonly Json[]>;
  read(uri: string, signal: AbortSignal): Promise<unknown>;
}

/** A server, as far as resources go. `undefined`: it has none now. */
export interface ResourceServer {
  readonly name: string;
  readonly resources?: ResourceAccess | undefined;
}

const DEADLINE_MS = 60_000;
/** More are not worth the window; a server says how to find the others. */
const RESOURCES_MAX = 500;

/** @param servers read at each use. */
export function resourceTools(servers: () => readonly ResourceServer[]): readonly Tool[] {
  const withResources = (name?: unknown) =>
    servers().flatMap(({ name: own, resources }) =>
      resources && (name === undefined || name === own) ? [{ name: own, resources }] : [],
    );
  const unknownServer = (name: unknown): ToolOutput => {
    const names = withResources().map((server) => server.name);
    const known = names.join(', ') || 'none';
    return failed(
      `No server named ${JSON.stringify(name)} has resources. Those with some: ${known}`,
    );
  };
  return [
    {
      ...common('ListMcpResources', { server: 'Only of this server.' }, []),
      description:
        'Lists what MCP servers have to read (uri, name, type), of all or of one server.',
      gist: ({ server }) => (typeof server === 'string' ? server : 'all servers'),
      async call({ server }, { signal }) {
        const asked = withResources(server);
        if (asked.length === 0) return unknownServer(server);
        return { content: (await Promise.all(asked.map((one) => listed(one, signal)))).join('\n') };
      },
    },
    {
      ...common(
        'ReadMcpResource',
        { server: 'Name of the server.', uri: 'As ListMcpResources shows it.' },
        ['server', 'uri'],
      ),
      description: 'Reads a resource of an MCP server.',
      gist: ({ server, uri }) => `${String(server)} ${String(uri)}`,
      async call({ server, uri }, context) {
        const [found] = withResources(server);
        if (!found) return unknownServer(server);
        return contentsOf(await found.resources.read(String(uri), context.signal), context);
      },
    },
  ];
}

const failed = (content: string): ToolOutput => ({ content, isError: true });

function common(name: string, texts: Readonly<Record<string, string>>, required: string[]) {
  const parse: Tool['parse'] = (input) => {
    if (input === null || typeof input !== 'object' || Array.isArray(input)) {
      return { ok: false, message: 'the input is no JSON object' };
    }
    const odd = Object.keys(input).filter((key) => !Object.hasOwn(texts, key));
    const missing = required.filter((key) => !Object.hasOwn(input, key));
    const wrong = Object.entries(input).filter(([, value]) => typeof value !== 'string');
    const faults = [
      ...missing.map((key) => `${key} is missing`),
      ...odd.map((key) => `${key} is unknown`),
      ...wrong.map(([key]) => `${key} is no text`),
    ];
    return faults.length === 0
      ? { ok: true, input: input as ToolInput }
      : { ok: false, message: faults.join(', ') };
  };
  return {
    name,
    inputSchema: {
      type: 'object' as const,
      properties: Object.fromEntries(
        Object.entries(texts).map(([key, description]) => [key, { type: 'string', description }]),
      ),
      required,
      additionalProperties: false,
    },
    maxResultSizeChars: RESULT_CHARS_MAX,
    isExternal: true,
    parse,
    isConcurrencySafe: () => true,
    isReadOnly: () => true,
    touches: () => ({ kind: 'unknown' as const }),
    deadlineMs: () => DEADLINE_MS,
  };
}

/** One line each; a server that fails does not hide the others. */
async function listed(
  { name, resources }: { readonly name: string; readonly resources: ResourceAccess },
  signal: AbortSignal,
): Promise<string> {
  try {
    const all = await resources.list(signal);
    const lines = all
      .slice(0, RESOURCES_MAX)
      .map(({ uri, name: own, mimeType, description }) =>
        [uri, own, mimeType, description].filter((part) => typeof part === 'string').join(' | '),
      );
    const more = all.length - lines.length;
    return [
      `${name}: ${all.length} resources`,
      ...lines,
      ...(more > 0 ? [`(${more} more)`] : []),
    ].join('\n');
  } catch (error) {
    return `${name}: failed, ${messageOf(error)}`;
  }
}

/** Texts as they are, everything else as the results of tools go. */
async function contentsOf(result: unknown, context: ToolContext): Promise<ToolOutput> {
  const { contents } = (result ?? {}) as { contents?: unknown };
  if (!Array.isArray(contents)) return failed('The server gave no contents.');
  return outputOf(
    {
      content: contents.map((resource: unknown) => {
        const text = (resource as { text?: unknown } | null)?.text;
        return typeof text === 'string' ? { type: 'text', text } : { type: 'resource', resource };
      }),
    },
    context,
  );
}
