/**
 * `tool` and `createSdkMcpServer` of the official Agent SDK, for hosts that come from there: tools
 * in this process, behind the protocol. Who begins here takes `defineTool`.
 */
import { isRecord } from '../services/is-record.ts';
import type { JsonRpcMessage } from '../services/mcp/in-process.ts';
import type { ServerInstance } from '../services/mcp/instance-server.ts';
import { messageOf } from '../services/message-of.ts';
import type { InputSchema } from '../services/tools/tool.ts';
import {
  complaint,
  type Issue,
  jsonSchemaOf,
  type OutputOf,
  type ParameterSchema,
} from './parameter-schema.ts';
import { UsageError } from './usage-error.ts';

type Shape = Readonly<Record<string, ParameterSchema>>;
type InputOf<Given extends Shape> = { readonly [Name in keyof Given]: OutputOf<Given[Name]> };

/** What the protocol calls the result of a call. */
export interface SdkToolResult {
  readonly content: readonly Readonly<Record<string, unknown> & { type: string }>[];
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}
interface Annotations {
  /** It changes nothing: may run beside others, and again after a crash. */
  readonly readOnlyHint?: boolean;
}
export interface SdkTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  readonly annotations?: Annotations | undefined;
  call(input: unknown, signal: AbortSignal): Promise<SdkToolResult>;
}

/**
 * @param shape the parameters by name, each a zod schema (4.2 or newer).
 * @param handler *Contract:* obeys the signal; a throw is an error that the model reads.
 * @throws UsageError with the tool's name when the shape is none, or has no JSON Schema.
 */
export function tool<Given extends Shape>(
  name: string,
  description: string,
  shape: Given,
  handler: (
    input: InputOf<Given>,
    extra: { readonly signal: AbortSignal },
  ) => Promise<SdkToolResult>,
  extras: { readonly annotations?: Annotations } = {},
): SdkTool {
  const inputSchema = objectSchema(name, shape);
  return {
    ...{ name, description, inputSchema, annotations: extras.annotations },
    async call(input, signal) {
      const { value, issues } = await read(shape, isRecord(input) ? input : {});
      if (issues.length === 0) return handler(value as InputOf<Given>, { signal });
      return failed(complaint(issues, inputSchema));
    },
  };
}

/** A server for the option `mcpServers`: its tools are `mcp__<name in the option>__<tool>`. */
export function createSdkMcpServer(options: {
  readonly name: string;
  readonly version?: string;
  readonly tools?: readonly SdkTool[];
}): { readonly type: 'sdk'; readonly name: string; readonly instance: ServerInstance } {
  const { name, version = '1.0.0', tools = [] } = options;
  return { type: 'sdk', name, instance: instanceOf({ name, version }, tools) };
}

function objectSchema(name: string, shape: Shape): InputSchema {
  checkShape(name, shape);
  const fields = Object.entries(shape).map(([key, schema]) => {
    const json = jsonSchemaOf(`${name}.${key}`, schema);
    return [key, movedTo(`#/properties/${pointerStep(key)}`, json)] as const;
  });
  const required = fields.flatMap(([key, json]) =>
    'default' in json || takesAbsence(shape[key]) ? [] : [key],
  );
  return { type: 'object', properties: Object.fromEntries(fields), required };
}

/** @throws UsageError */
function checkShape(name: string, shape: unknown): void {
  if (isRecord(shape) && !('~standard' in shape)) return;
  const remedy = 'give each parameter a zod schema by name, { city: z.string() }, or {} for none';
  throw new UsageError(`tool ${JSON.stringify(name)}: expected a shape: ${remedy}`);
}

/** The references of a document mean its own root: it is a part of another one now. */
function movedTo<Json>(place: string, json: Json): Json {
  const moved = (value: unknown, key: string): unknown => {
    if (key === '$ref' && typeof value === 'string') return value.replace(/^#/, place);
    if (Array.isArray(value)) return value.map((one) => moved(one, ''));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, moved(one, name)]));
  };
  return moved(json, '') as Json;
}

const pointerStep = (key: string): string =>
  encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));

/**
 * Asked of the schema itself, whose code may be the host's: what throws for nothing, or cannot say
 * at once, is a parameter that the model had better give.
 */
function takesAbsence(schema: ParameterSchema | undefined): boolean {
  try {
    const read = schema?.['~standard'].validate(undefined);
    if (!(read instanceof Promise)) return read?.issues === undefined;
    read.catch(() => {});
    return false;
  } catch {
    return false;
  }
}

async function read(shape: Shape, input: Readonly<Record<string, unknown>>) {
  const issues: Issue[] = [];
  const value: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(shape)) {
    const read = await schema['~standard'].validate(input[key]);
    if (!read.issues) {
      // Absent stays absent: a handler may ask with `in`, or spread it over its defaults.
      if (read.value !== undefined || Object.hasOwn(input, key)) value[key] = read.value;
    } else issues.push(...read.issues.map((one) => ({ ...one, path: [key, ...(one.path ?? [])] })));
  }
  return { value, issues };
}

const failed = (text: string): SdkToolResult => ({
  content: [{ type: 'text', text }],
  isError: true,
});

/** The few words of the protocol that a list of tools needs. */
function instanceOf(
  serverInfo: { readonly name: string; readonly version: string },
  tools: readonly SdkTool[],
): ServerInstance {
  const running = new Map<unknown, AbortController>();
  const listed = tools.map(({ name, description, inputSchema, annotations }) => ({
    ...{ name, description, inputSchema, ...(annotations && { annotations }) },
  }));
  const called = async ({ id, params }: JsonRpcMessage): Promise<unknown> => {
    const wanted = tools.find(({ name }) => name === params?.name);
    if (!wanted) return failed(`There is no tool ${JSON.stringify(params?.name)}.`);
    const abort = new AbortController();
    running.set(id, abort);
    try {
      return await wanted.call(params?.arguments, abort.signal);
    } catch (error) {
      return failed(messageOf(error));
    } finally {
      running.delete(id);
    }
  };
  const answer = async (message: JsonRpcMessage): Promise<unknown> => {
    switch (message.method) {
      case 'initialize': {
        const protocolVersion = message.params?.protocolVersion;
        return { protocolVersion, capabilities: { tools: {} }, serverInfo };
      }
      case 'tools/list':
        return { tools: listed };
      case 'tools/call':
        return called(message);
      case 'ping':
        return {};
      default:
        return undefined;
    }
  };
  return {
    async connect(transport) {
      transport.onmessage = (message) => {
        const { id } = message;
        if (message.method === 'notifications/cancelled') {
          running.get(message.params?.requestId)?.abort();
        }
        if (id === undefined) return;
        void answer(message).then((result) =>
          transport.send(
            result === undefined
              ? { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }
              : { jsonrpc: '2.0', id, result },
          ),
        );
      };
      await transport.start();
    },
    async close() {
      for (const abort of running.values()) abort.abort();
    },
  };
}
