/**
 * One live connection to a server that is not in our process: what was negotiated, and requests
 * over it. It ends once and never comes back; `external-server.ts` makes the next one.
 */
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { LONGEST_MS } from '../../machines/limits.ts';
import { recordOf } from '../is-record.ts';
import { type Elicitation, type ElicitationRequest, elicitationCapability } from './elicitation.ts';
import type { ListedTool } from './external-tool.ts';
import { grantedAt } from './renewal.ts';
import type { HttpServer, StdioServer } from './server-config.ts';
import { serverEnvironment } from './server-environment.ts';
import { serverFetch } from './server-fetch.ts';
import { StdioTransport } from './stdio-transport.ts';

type Json = Readonly<Record<string, unknown>>;

/** A list that goes on for ever is a bug of the server. */
const PAGES_MAX = 100;
/** Each page of a list, each resource. A call has its own time. */
const REQUEST_MS = 60_000;
/** A server that needs longer for nothing does nothing. */
const PING_MS = 5_000;
/** A server over HTTP is told that its session is over, if it listens. */
const GOODBYE_MS = 500;

export interface ConnectionOptions {
  readonly name: string;
  readonly config: StdioServer | HttpServer;
  /** Where a program starts, and the first root. Absolute. */
  readonly cwd: string;
  /** Of the session; a server gets a part of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that the server may work in, absolute, when it asks. */
  readonly roots: () => readonly string[];
  readonly clientVersion: string;
  readonly elicitation: Elicitation;
  /** Where what was granted at servers over HTTP is kept. */
  readonly grants: string;
  /** Until the handshake is done. */
  readonly connectMs: number;
  readonly signal: AbortSignal;
  readonly onListChanged: (what: 'tools' | 'resources' | 'prompts') => void;
  /** The server has gone by itself; never after `close`. */
  readonly onGone: (how: string) => void;
  readonly onDebug: (text: string) => void;
}

export interface CallOptions {
  /** Aborted by the caller, and by the deadline. */
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  readonly onProgress: (gist: string) => void;
}

export interface Connection {
  /** What the server says it can do. */
  readonly offers: {
    readonly tools: boolean;
    readonly resources: boolean;
    readonly prompts: boolean;
  };
  listTools(): Promise<readonly ListedTool[]>;
  callTool(name: string, input: Json, options: CallOptions): Promise<unknown>;
  listResources(signal: AbortSignal): Promise<readonly Json[]>;
  readResource(uri: string, signal: AbortSignal): Promise<unknown>;
  listPrompts(): Promise<readonly Json[]>;
  getPrompt(name: string, input: Readonly<Record<string, string>>): Promise<unknown>;
  /** Rejects when the server does not even answer this. */
  ping(): Promise<unknown>;
  /** Nothing of the server's processes is alive afterwards. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts or reaches the server and shakes hands. *Contract:* rejects with the SDK's errors (judged
 * by `failure.ts`), and then nothing of it is left.
 */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  // Half a second of loading that sessions without servers do not pay.
  const sdk = await import('@modelcontextprotocol/client');
  const { signal, connectMs } = options;
  const client = new sdk.Client(
    { name: 'escapement', version: options.clientVersion },
    {
      capabilities: {
        roots: {},
        ...(options.elicitation.isAnswered ? elicitationCapability : {}),
      },
    },
  );
  answerServer(client, options);
  const transport = await transportTo(options, sdk.StreamableHTTPClientTransport);
  let isClosed = false;
  const close = async () => {
    isClosed = true;
    if (!(transport instanceof StdioTransport)) await sayGoodbye(transport);
    await transport.close();
  };
  client.onclose = () => {
    if (isClosed) return;
    const ending = transport instanceof StdioTransport ? transport.ending : undefined;
    options.onGone(ending ?? 'the connection was closed');
  };
  client.onerror = (error) => options.onDebug(error.message);
  try {
    await client.connect(transport, { timeout: connectMs, signal });
  } catch (error) {
    // A program that could not be started or has died says more than "Connection closed".
    const ending = transport instanceof StdioTransport ? transport.ending : undefined;
    await close();
    if (ending === undefined || signal.aborted) throw error;
    throw new Error(`it did not start: ${ending}`, { cause: error });
  }
  return connected(client, close);
}

async function transportTo(options: ConnectionOptions, Http: typeof StreamableHTTPClientTransport) {
  const { config, cwd, env, onDebug } = options;
  switch (config.type) {
    case 'stdio': {
      const { command, args } = config;
      const own = serverEnvironment(env, config.env);
      return new StdioTransport({ command, args, cwd, env: own, onDebug });
    }
    case 'http': {
      const granted = await grantedAt(options.grants, config.url);
      const reach = serverFetch(config);
      return new Http(
        new URL(config.url),
        granted ? { fetch: granted.watched(reach), authProvider: granted } : { fetch: reach },
      );
    }
  }
}

/** What the server may ask of us. */
function answerServer(client: Client, options: ConnectionOptions): void {
  const { elicitation, onListChanged } = options;
  client.setRequestHandler('roots/list', () => ({
    roots: options.roots().map((folder) => ({
      uri: pathToFileURL(folder).href,
      name: basename(folder) || folder,
    })),
  }));
  if (elicitation.isAnswered) {
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
      elicitation.answer(params as unknown as ElicitationRequest, mcpReq.signal),
    );
  }
  client.setNotificationHandler('notifications/tools/list_changed', () => onListChanged('tools'));
  client.setNotificationHandler('notifications/resources/list_changed', () =>
    onListChanged('resources'),
  );
  client.setNotificationHandler('notifications/prompts/list_changed', () =>
    onListChanged('prompts'),
  );
}

function connected(client: Client, close: () => Promise<void>): Connection {
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const ask = (method: string, params: Json, signal?: AbortSignal) =>
    client.request({ method, params }, anything, {
      timeout: REQUEST_MS,
      ...(signal ? { signal } : {}),
    });
  const listAll = async (method: string, key: string, signal?: AbortSignal) => {
    const all: Json[] = [];
    let cursor: unknown;
    for (let page = 0; page < PAGES_MAX; page++) {
      const params = typeof cursor === 'string' ? { cursor } : {};
      const result = recordOf(await ask(method, params, signal));
      const part = result[key];
      if (!Array.isArray(part)) throw new Error(`${method} gave no list`);
      all.push(...part.map(recordOf));
      cursor = result.nextCursor;
      if (typeof cursor !== 'string') break;
    }
    return all;
  };
  return {
    offers: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      prompts: prompts !== undefined,
    },
    listTools: async () => (await listAll('tools/list', 'tools')).filter(isListedTool),
    callTool: (tool, input, { signal, idempotencyKey, onProgress }) =>
      client.request(
        {
          method: 'tools/call',
          params: {
            name: tool,
            arguments: input,
            _meta: { 'escapement/idempotencyKey': idempotencyKey },
          },
        },
        anything,
        { signal, timeout: LONGEST_MS, onprogress: (progress) => onProgress(gistOf(progress)) },
      ),
    listResources: (signal) => listAll('resources/list', 'resources', signal),
    readResource: (uri, signal) => ask('resources/read', { uri }, signal),
    listPrompts: () => listAll('prompts/list', 'prompts'),
    getPrompt: (prompt, input) => ask('prompts/get', { name: prompt, arguments: input }),
    ping: () => client.request({ method: 'ping' }, anything, { timeout: PING_MS }),
    close,
  };
}

/**
 * The SDK's own schemas refuse a whole list for one tool with an odd schema, and a result for one
 * block of a kind that is newer than they are. What comes is read with care where it is used.
 */
const anything = {
  '~standard': {
    version: 1,
    vendor: 'escapement',
    validate: (value: unknown) => ({ value }),
  },
} as const;

async function sayGoodbye(transport: StreamableHTTPClientTransport): Promise<void> {
  if (transport.sessionId === undefined) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, GOODBYE_MS);
  });
  await Promise.race([transport.terminateSession().catch(() => {}), late]);
  clearTimeout(timer);
}

const gistOf = ({ progress, total, message }: Progress): string => {
  const count = total === undefined ? String(progress) : `${progress}/${total}`;
  return message ? `${message} (${count})` : count;
};
interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

const isListedTool = (value: Json): value is Json & ListedTool => typeof value.name === 'string';
