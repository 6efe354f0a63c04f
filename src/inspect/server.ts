/** The inspector's server: one page, one stream, a few questions. On this machine only. */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { gzip } from 'node:zlib';
import { Admission, COMMAND_BYTES_MAX, isRefused } from './admission.ts';
import { EventStream } from './event-stream.ts';
import { pageHtml } from './page-html.ts';
import {
  type CommandAnswer,
  type ControlState,
  type Coverage,
  type Hello,
  type Path,
  routes,
  type Sendable,
} from './protocol.ts';
import { drawn, recordingOf } from './recording.ts';
import type { PieceOf, Run } from './run.ts';

export interface ServerParts {
  readonly run: Run;
  /** 0: any that is free. */
  readonly port: number;
  /** The process lives as long as the server; else the server ends with it. */
  readonly keepsAlive: boolean;
  readonly control?: {
    readonly allowed: NonNullable<Hello['control']>;
    readonly state: () => ControlState;
    readonly obey: (body: string) => CommandAnswer;
    readonly sendable: (instance: string) => Sendable | undefined;
    /** Nobody looks any more. */
    readonly onAlone: () => void;
  };
  readonly coverage?: () => Promise<Coverage | undefined>;
  /** Pages of other sites that may ask for an upgrade. */
  readonly upgradeOrigins?: readonly string[];
  /**
   * Takes over an upgrade at `/<token>/xstate-inspect`, whose sender was checked.
   * @param isGuest a page of another site: it may only look on.
   */
  readonly onUpgrade?: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    isGuest: boolean,
  ) => void;
}

const COMMAND_WAIT_MS = 5_000;

const headers = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

export class InspectorServer {
  readonly #parts: ServerParts;
  readonly #admission: Admission;
  readonly #server: Server;
  readonly #streams = new Set<EventStream>();
  readonly #upgraded = new Set<Duplex>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#admission = new Admission(parts.control !== undefined);
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    if (parts.keepsAlive) return;
    // An open page does not keep a program that has ended.
    this.#server.on('connection', (socket) => socket.unref());
    this.#server.unref();
  }

  /** @returns the address, with the secret in it. @throws when the port is taken. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#parts.port, '127.0.0.1', () => resolve());
    });
    const { port } = this.#server.address() as AddressInfo;
    this.#admission.port = port;
    return `http://127.0.0.1:${port}/${this.#admission.token}/`;
  }

  tellControl(state: ControlState): void {
    for (const stream of this.#streams) stream.control(state);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.finish()));
    // Not among the connections that `closeAllConnections` knows.
    for (const socket of this.#upgraded) socket.destroy();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { onUpgrade, upgradeOrigins } = this.#parts;
    const admitted = this.#admission.check(request, upgradeOrigins);
    if (isRefused(admitted) || admitted.route !== 'xstate-inspect' || !onUpgrade) {
      const status = isRefused(admitted) ? admitted.status : 404;
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    onUpgrade(request, socket, head, admitted.isGuest);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const admitted = this.#admission.check(request);
      if (isRefused(admitted)) refuse(response, admitted.status, admitted.why);
      else await this.#serve(admitted.route, admitted.query, request, response);
    } catch (error) {
      // What the page must not know (paths, values) is not in the answer.
      if (response.headersSent) response.destroy();
      else refuse(response, 500, `the inspector failed: ${(error as Error).name}`);
    }
  }

  async #serve(
    route: string,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { run, control } = this.#parts;
    switch (route) {
      case routes.page:
        return this.#page(request, response);
      case routes.events:
        return this.#stream(request, response);
      case routes.chart:
        return this.#json(response, await drawn(run, query.get('key') ?? ''));
      case routes.context:
      case routes.event:
      case routes.message:
        return this.#piece(response, { what: route, seq: Number(query.get('seq')) }, query);
      case routes.request:
        return this.#piece(response, { what: 'request', id: query.get('id') ?? '' }, query);
      case routes.requestDiff:
        return this.#json(response, run.requestDiff(query.get('id') ?? ''));
      case routes.sendable:
        return this.#json(response, control?.sendable(query.get('instance') ?? ''));
      case routes.coverage:
        return this.#coverage(response);
      case routes.exportJsonl:
        return this.#export(response);
      case routes.exportHtml:
        return this.#exportHtml(response);
      case routes.command:
        return this.#command(request, response);
      default:
        refuse(response, 404, 'not found');
    }
  }

  async #page(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const nonce = randomBytes(18).toString('base64');
    const html = pageHtml({ nonce });
    const policy =
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; ` +
      "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    const zips = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      ...(zips ? { 'content-encoding': 'gzip' } : {}),
    });
    response.end(zips ? await zipped(html) : html);
  }

  async #stream(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { run, control } = this.#parts;
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    const last = Number.parseInt(String(request.headers['last-event-id'] ?? ''), 10);
    const stream = new EventStream({
      ...{ run, response, after: Number.isSafeInteger(last) && last >= 0 ? last : undefined },
      hello: () => ({
        ...run.hello(),
        ...(control ? { control: control.allowed, state: control.state() } : {}),
      }),
    });
    this.#streams.add(stream);
    response.once('close', () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) control?.onAlone();
    });
  }

  get isWatched(): boolean {
    return this.#streams.size > 0;
  }

  #piece(response: ServerResponse, of: PieceOf, query: URLSearchParams): void {
    const path = pathIn(query.get('path'));
    if (!path) refuse(response, 400, 'path: a JSON array of keys');
    else this.#json(response, this.#parts.run.piece(of, path));
  }

  #json(response: ServerResponse, value: unknown): void {
    if (value === undefined) {
      refuse(response, 404, 'not found');
      return;
    }
    response.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8' });
    response.end(this.#parts.run.scrub(JSON.stringify(value)));
  }

  /** Most runs have none: that is no error. */
  async #coverage(response: ServerResponse): Promise<void> {
    const coverage = await this.#parts.coverage?.();
    if (coverage === undefined) response.writeHead(204, headers).end();
    else this.#json(response, coverage);
  }

  async #export(response: ServerResponse): Promise<void> {
    response.writeHead(200, {
      ...headers,
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="recording.escapement.jsonl"',
    });
    for await (const line of recordingOf(this.#parts.run)) {
      if (response.closed) return;
      if (!response.write(line)) await drained(response);
    }
    response.end();
  }

  async #exportHtml(response: ServerResponse): Promise<void> {
    const html = await exportedHtml(this.#parts.run);
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment; filename="recording.escapement.html"',
      // Only for those who open it here; the file has a policy of its own.
      'content-security-policy': 'sandbox',
    });
    response.end(html);
  }

  async #command(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { control } = this.#parts;
    if (!control || request.method !== 'POST') {
      refuse(response, 405, 'only POST');
      return;
    }
    const body = await bodyOf(request);
    if (body === undefined) refuse(response, 413, 'no command is so long');
    else this.#json(response, control.obey(body));
  }
}

/** One file that needs nothing else: the page with the recording in it. */
export async function exportedHtml(run: Run): Promise<string> {
  let data = '';
  for await (const line of recordingOf(run)) data += line;
  return pageHtml({ data });
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, {
    ...headers,
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
    ...(status === 405 ? { allow: 'GET' } : {}),
  });
  response.end(`${why}\n`);
}

function pathIn(text: string | null): Path | undefined {
  if (text === null || text === '') return [];
  try {
    const path: unknown = JSON.parse(text);
    const isPath =
      Array.isArray(path) && path.every((key) => typeof key === 'string' || Number.isInteger(key));
    return isPath ? (path as Path) : undefined;
  } catch {
    return undefined;
  }
}

const zipped = (text: string): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    gzip(text, (error, bytes) => (error ? reject(error) : resolve(bytes))),
  );

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const go = () => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.on('drain', go);
    response.on('close', go);
  });

/** @returns nothing when it is too long. @throws when it does not come. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    request.setTimeout(COMMAND_WAIT_MS, () => request.destroy(new Error('no body')));
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > COMMAND_BYTES_MAX) resolve(undefined);
      else parts.push(part);
    });
    request.once('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    request.once('error', reject);
  });
}
