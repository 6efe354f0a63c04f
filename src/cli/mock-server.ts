/** `escapement mock-server`: the scripted Messages API server as a command. */
import { once } from 'node:events';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { messageOf } from '../../services/message-of.ts';
import { recordsIn } from '../testing/json.ts';
import { parseScriptText, type ScriptProblem, scriptJsonSchema } from '../testing/parse-script.ts';
import type { ReceivedRequest } from '../testing/received-request.ts';
import type { Script } from '../testing/script.ts';
import { createScriptedServer, type ScriptedServer } from '../testing/scripted-server.ts';
import type { LogEntry } from '../testing/server-log.ts';
import { violationLine } from '../testing/strict.ts';
import { exitCodes } from './context.ts';
import { watchSignals } from './signals.ts';

/** What the command gets from the process. */
export interface MockServerIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Not read: a script has no keys and no settings of its own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Ends the server; the command then returns 0. */
  readonly signal: AbortSignal;
}

const USAGE = `Usage: escapement mock-server <script.json> [options]

Plays a Messages API server on 127.0.0.1 that answers from a script: replies, tool calls and every
fault (status, cut, stall, error event, drip, …). It refuses what the API would refuse and says
which rule was broken. The first line of stdout is its URL; each request is one line on stderr.

Options:
  --port <n>         port; default: any free one
  --record <file>    append each request as a JSON line (no keys; the file is yours alone, 0600)
  --strict           refuse requests that break a rule (default, unless the script says otherwise)
  --no-strict        answer them all the same
  --schema           print the JSON Schema of scripts and end
  -h, --help         print this and end

Scripts, faults and examples: docs/testing-server.md. Ends with Ctrl-C.
`;

interface Arguments {
  readonly script: string;
  readonly port: number;
  readonly record: string | undefined;
  readonly strict: boolean | undefined;
}

type Invocation =
  | { readonly kind: 'help' }
  | { readonly kind: 'schema' }
  | { readonly kind: 'serve'; readonly arguments: Arguments }
  | { readonly kind: 'wrong'; readonly message: string };

/**
 * Runs the command until `io.signal` fires.
 * @returns the exit code: 0 after the signal, 1 if it could not listen or record, 2 for wrong usage
 * or a script with mistakes.
 */
export async function runMockServer(
  argv: readonly string[],
  io: MockServerIo = ioOfProcess(),
): Promise<number> {
  const invocation = parseInvocation(argv);
  switch (invocation.kind) {
    case 'help':
      io.stdout.write(USAGE);
      return exitCodes.good;
    case 'schema':
      io.stdout.write(`${JSON.stringify(await scriptJsonSchema(), null, 2)}\n`);
      return exitCodes.good;
    case 'wrong':
      io.stderr.write(`escapement mock-server: ${invocation.message}\n\n${USAGE}`);
      return exitCodes.usage;
    case 'serve': {
      const script = await readScript(invocation.arguments.script, io);
      return script ? serve(script, invocation.arguments, io) : exitCodes.usage;
    }
  }
}

function ioOfProcess(): MockServerIo {
  const ending = new AbortController();
  watchSignals(() => ending.abort());
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: ending.signal,
  };
}

const PORT_MAX = 65_535;

function parseInvocation(argv: readonly string[]): Invocation {
  let parsed: ReturnType<typeof parseFlags>;
  try {
    parsed = parseFlags(argv);
  } catch (error) {
    return { kind: 'wrong', message: messageOf(error) };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  if (values.schema) return { kind: 'schema' };
  const [script, ...more] = positionals;
  if (script === undefined) return { kind: 'wrong', message: 'say which script to play' };
  if (more.length > 0)
    return { kind: 'wrong', message: `one script at a time, not ${more[0]} too` };
  const port = Number(values.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > PORT_MAX) {
    return { kind: 'wrong', message: `--port ${values.port} is no port` };
  }
  if (values.strict && values['no-strict']) {
    return { kind: 'wrong', message: 'either --strict or --no-strict' };
  }
  const strict = values['no-strict'] ? false : values.strict;
  return { kind: 'serve', arguments: { script, port, record: values.record, strict } };
}

const parseFlags = (argv: readonly string[]) =>
  parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      port: { type: 'string' },
      record: { type: 'string' },
      strict: { type: 'boolean' },
      'no-strict': { type: 'boolean' },
      schema: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });

/** The script, or `undefined` after saying what is wrong with it. */
async function readScript(path: string, { stderr }: MockServerIo): Promise<Script | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    stderr.write(`${path}: ${messageOf(error)}\n`);
    return undefined;
  }
  const parsed = await parseScriptText(text);
  if (parsed.ok) return parsed.script;
  for (const problem of parsed.problems) stderr.write(`${path}: ${problemLine(problem)}\n`);
  return undefined;
}

const problemLine = ({ path, message, remedy }: ScriptProblem): string =>
  `${path}: ${message}; ${remedy}`;

async function serve(script: Script, given: Arguments, io: MockServerIo): Promise<number> {
  let recorder: Recorder | undefined;
  try {
    recorder = given.record === undefined ? undefined : await Recorder.open(given.record, io);
  } catch (error) {
    io.stderr.write(`--record ${given.record}: ${messageOf(error)}\n`);
    return exitCodes.failed;
  }
  const arrived = new Map<number, ReceivedRequest>();
  const server = createScriptedServer(script, {
    ...(given.strict === undefined ? {} : { strict: given.strict }),
    // Only the log is of use here, and a long session's bodies are large.
    requestsKeptMax: 1,
    onRequest: (request) => {
      arrived.set(request.sequence, request);
      recorder?.add(request);
    },
    onLog: (entry) => {
      const request = arrived.get(entry.request);
      for (const line of linesOf(entry, request)) io.stderr.write(`${line}\n`);
      if (entry.type === 'reply' || entry.type === 'refused') arrived.delete(entry.request);
    },
  });
  try {
    const url = await server.listen(given.port);
    // the URL alone, for `$(… | head -1)`; what a person wants to know is not for a script
    io.stdout.write(`${url}\n`);
    io.stderr.write(`ANTHROPIC_BASE_URL=${url} ANTHROPIC_API_KEY=any <your client>\n`);
    if (!io.signal.aborted) await once(io.signal, 'abort');
    io.stderr.write(`${summaryLine(server)}\n`);
    return exitCodes.good;
  } catch (error) {
    io.stderr.write(`port ${given.port}: ${messageOf(error)}\n`);
    return exitCodes.failed;
  } finally {
    await server.close();
    await recorder?.close();
  }
}

/** A line per request, and lines for what went wrong. */
function linesOf(entry: LogEntry, request: ReceivedRequest | undefined): string[] {
  const head = `#${entry.request}`;
  switch (entry.type) {
    case 'reply':
      return [`${head} ${entry.purpose} ${requestFacts(request)} → ${entry.verdict}`];
    case 'refused': {
      const line = `${head} ${request?.purpose ?? '?'} ${requestFacts(request)} → ${entry.status}`;
      return [`${line} refused`, ...entry.violations.map((v) => `  broken: ${violationLine(v)}`)];
    }
    case 'script_error':
      return [`${head} mistake in the script: ${entry.message}`];
    case 'client_closed':
      return [`${head} the client closed the connection before the end`];
    case 'other':
      return [`${head} ${entry.method} ${entry.path}`];
    case 'request':
    case 'event':
    case 'fault':
    case 'answered':
      return [];
  }
}

function requestFacts(request: ReceivedRequest | undefined): string {
  if (!request) return 'unreadable';
  const { model, messages, tools } = request.body;
  const count = recordsIn(messages).length;
  return `${String(model)}, ${count} messages, ${recordsIn(tools).length} tools`;
}

function summaryLine(server: ScriptedServer): string {
  const { requests, efficiency } = server.cacheReport();
  return [
    `${requests} messages sent`,
    `${server.violations.length} rules broken`,
    `${server.repliesLeft} replies left`,
    `prompt cache ${Math.round(efficiency * 100)} % of ideal`,
  ].join(', ');
}

/** Read and written by the owner alone: requests hold source code and what people say. */
const PRIVATE_FILE_MODE = 0o600;

/** Writes requests as JSON lines, one after the other. */
class Recorder {
  readonly #file: FileHandle;
  readonly #io: MockServerIo;
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(file: FileHandle, io: MockServerIo) {
    this.#file = file;
    this.#io = io;
  }

  static async open(path: string, io: MockServerIo): Promise<Recorder> {
    const file = await open(path, 'a', PRIVATE_FILE_MODE);
    await file.chmod(PRIVATE_FILE_MODE); // the file may have been there, open to others
    return new Recorder(file, io);
  }

  add({ sequence, purpose, path, body }: ReceivedRequest): void {
    const at = new Date().toISOString();
    const line = `${JSON.stringify({ sequence, at, purpose, path, body })}\n`;
    this.#writing = this.#writing
      .then(() => this.#file.appendFile(line))
      .catch((error: unknown) => this.#io.stderr.write(`#${sequence} not recorded: ${error}\n`));
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }
}
