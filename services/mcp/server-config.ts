/** How a server is reached, as `.mcp.json`, `--mcp-config` and the option `mcpServers` say it. */
import { isRecord } from '../is-record.ts';

/** A program of its own that speaks over stdin and stdout. */
export interface StdioServer {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** On top of the few variables that every server gets. */
  readonly env: Readonly<Record<string, string>>;
}

/** Streamable HTTP. */
export interface HttpServer {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Lives in the host's process. Without an instance the host brings it over its own channel. */
export interface SdkServer {
  readonly type: 'sdk';
  readonly instance?: unknown;
}

export type ServerConfig = StdioServer | HttpServer | SdkServer;

export type ReadServerConfig =
  | { readonly ok: true; readonly config: ServerConfig }
  /** `place` is the path within the server's entry; empty for the entry itself. */
  | { readonly ok: false; readonly place: string; readonly why: string };

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Checks one entry. Unknown keys are left to the programs that share the file.
 * @param variables what `${NAME}` and `${NAME:-default}` stand for, in every text of the entry: so
 * that a file that is shared holds no secrets.
 */
export function readServerConfig(value: unknown, variables: Variables): ReadServerConfig {
  if (!isRecord(value)) return wrong('', 'is no object: say {"command": …} or {"url": …}');
  const { type } = value;
  try {
    switch (type) {
      case undefined:
        return value.command === undefined && value.url !== undefined
          ? http(value, variables)
          : stdio(value, variables);
      case 'stdio':
        return stdio(value, variables);
      case 'http':
      case 'streamable-http':
        return http(value, variables);
      case 'sse':
        return wrong(
          'type',
          '"sse" is the transport of 2024 and not supported: use the server\'s address for streamable HTTP, with "type": "http"',
        );
      case 'sdk':
        return { ok: true, config: { type, instance: value.instance } };
      default:
        return wrong('type', `is ${JSON.stringify(type)}: "stdio", "http" and "sdk" exist`);
    }
  } catch (error) {
    if (error instanceof UnsetVariable) return wrong(error.place, error.message);
    throw error;
  }
}

function stdio(value: Json, variables: Variables): ReadServerConfig {
  const { command, args = [], env = {} } = value;
  if (typeof command !== 'string' || command.trim() === '') {
    return wrong('command', 'is missing: name the program that is the server');
  }
  if (!isTexts(args)) return wrong('args', 'is no list of texts');
  if (!isTextMap(env)) return wrong('env', 'is no object of texts');
  const expanded = {
    command: expand(command, variables, 'command'),
    args: args.map((arg, index) => expand(arg, variables, `args[${index}]`)),
    env: expandAll(env, variables, 'env'),
  };
  const texts = [expanded.command, ...expanded.args, ...Object.entries(expanded.env).flat()];
  if (texts.some((text) => text.includes('\0'))) return wrong('', 'has a text with a NUL in it');
  return { ok: true, config: { type: 'stdio', ...expanded } };
}

function http(value: Json, variables: Variables): ReadServerConfig {
  const { url, headers = {} } = value;
  if (typeof url !== 'string') return wrong('url', 'is missing: say where the server is');
  if (!isTextMap(headers)) return wrong('headers', 'is no object of texts');
  const address = expand(url, variables, 'url');
  if (!/^https?:$/.test(protocolOf(address) ?? '')) {
    return wrong('url', `is no http(s) address: ${JSON.stringify(address)}`);
  }
  const expanded = expandAll(headers, variables, 'headers');
  for (const [name, text] of Object.entries(expanded)) {
    if (!isHeader(name, text)) return wrong(`headers.${name}`, 'is no legal HTTP header');
  }
  return { ok: true, config: { type: 'http', url: address, headers: expanded } };
}

type Json = Readonly<Record<string, unknown>>;
const isText = (value: unknown): value is string => typeof value === 'string';
const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(isText);
const isTextMap = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecord(value) && Object.values(value).every(isText);
const wrong = (place: string, why: string): ReadServerConfig => ({ ok: false, place, why });

const protocolOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).protocol : undefined;

/** Headers are checked here, where the entry can be named, and not by the first request. */
function isHeader(name: string, text: string): boolean {
  try {
    new Headers([[name, text]]);
    return true;
  } catch {
    return false;
  }
}

class UnsetVariable extends Error {
  readonly place: string;
  constructor(name: string, place: string) {
    super(`needs the environment variable ${name}, which is not set`);
    this.place = place;
  }
}

/** @throws UnsetVariable: a server that gets an empty secret fails later and in worse words. */
const expand = (text: string, variables: Variables, place: string): string =>
  text.replace(
    /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
    (_, name: string, fallback: string | undefined) => {
      const found = variables[name] ?? fallback;
      if (found === undefined) throw new UnsetVariable(name, place);
      return found;
    },
  );

const expandAll = (
  texts: Readonly<Record<string, string>>,
  variables: Variables,
  place: string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      expand(text, variables, `${place}.${name}`),
    ]),
  );
