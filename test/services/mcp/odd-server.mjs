/**
 * A small MCP server over stdio that misbehaves as its tools are called. Its one argument is a JSON
 * object: `start` (ms before it answers at all, -1: never), `tools` (instead of its own list),
 * `dieAt` and `hangAt` (a method, at which it ends or says nothing), `answers` (by method, instead of
 * its own), `nested` (a schema of that depth), `storm` (so many notifications after each list),
 * `noise` (prints log lines on stdout), `refuse` (ends at once), `ignoresEnd` (outlives its stdin and
 * SIGTERM), `pidFile` (notes its process id there), `child` (starts a process, and notes that one and
 * its own parent, too).
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import process from 'node:process';

const options = JSON.parse(process.argv[2] ?? '{}');
if (options.refuse) {
  process.stderr.write('no licence\n');
  process.exit(3);
}
if (options.pidFile) appendFileSync(options.pidFile, `${process.pid}\n`);
if (options.ignoresEnd) process.on('SIGTERM', () => {});
if (options.child) {
  const child = spawn('tail', ['-f', '/dev/null'], { stdio: 'ignore' });
  appendFileSync(options.pidFile, `${process.ppid}\n${child.pid}\n`);
}
setInterval(() => {}, 1000);

const print = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more });
const object = { type: 'object' };
const tools = [
  'echo',
  'sleep',
  'die',
  'half',
  'deaf',
  'big',
  'bigError',
  'sized',
  'images',
  'odd',
  'grow',
  'cancelled',
  'lists',
  'flood',
  'env',
  'throw',
  'ask',
];
const cancelled = [];
let lists = 0;
/** Of all kinds that a server may send unasked, most of them about nothing that there is. */
const storm = (count) => {
  for (let n = 0; n < count; n++) {
    print({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    if (n > 3) continue;
    const progressToken = 4_000 + n;
    print({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: n },
    });
    print({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: progressToken },
    });
    print({ jsonrpc: '2.0', method: 'notifications/nobody-knows', params: {} });
    print({ jsonrpc: '2.0', id: progressToken, result: {} });
    print({ jsonrpc: '2.0', id: `x${n}`, method: 'nobody/knows' });
  }
};
/** Calls that wait for the answer to a question to the person, by the id of the question. */
const questions = new Map();
let mayAsk = false;
let grown = [];
/** `times` repeats the description of a schema: an argument cannot hold a huge one. */
const longer = ({ times, ...tool }) =>
  times
    ? {
        ...tool,
        inputSchema: {
          ...tool.inputSchema,
          description: tool.inputSchema.description.repeat(times),
        },
      }
    : tool;
/** As text: no process can make JSON of it. */
const nested = (id, depth) => {
  const deep = `{"type":"object","x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const tools = `[{"name":"deep","inputSchema":${deep}},{"name":"echo"}]`;
  process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"tools":${tools}}}\n`);
};
const listed = () =>
  options.tools?.map(longer) ?? [...tools, ...grown].map((name) => ({ name, inputSchema: object }));

const handlers = {
  initialize: ({ protocolVersion, capabilities }) => {
    mayAsk = capabilities.elicitation !== undefined;
    return {
      protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'odd', version: '1' },
    };
  },
  ping: () => ({}),
  'tools/list': () => ({ tools: listed() }),
  'tools/call': ({ name, arguments: input }, id) => call(name, input, id),
};

function call(name, input, id) {
  switch (name) {
    case 'ask': {
      if (!mayAsk) return text('nobody answers');
      const question = `question-${id}`;
      questions.set(question, id);
      const form = { type: 'object', properties: {} };
      const params = { message: 'Which one?', requestedSchema: form, ...input };
      print({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params });
      return undefined;
    }
    case 'sleep':
      return undefined;
    case 'die':
      return process.exit(1);
    case 'half':
      process.stdout.write('{"jsonrpc":"2.0","id":');
      return undefined;
    case 'deaf':
      process.stdin.pause();
      return undefined;
    case 'big':
      return text('x'.repeat(2_000_000));
    case 'sized':
      // as many texts as lengths are asked for
      return { content: input.chars.map((chars) => ({ type: 'text', text: sized(chars) })) };
    case 'bigError':
      return text('e'.repeat(1_000_000), { isError: true });
    case 'images':
      return {
        content: Array.from({ length: 30 }, () => ({
          type: 'image',
          data: png,
          mimeType: 'image/png',
        })),
      };
    case 'odd':
      return {
        content: [
          { type: 'text', text: 'first' },
          { type: 'resource_link', name: 'n', uri: 'f://y' },
          { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
          { type: 'hologram', depth: 3 },
        ],
      };
    case 'grow':
      grown = ['grown'];
      print({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      return text('grew');
    case 'cancelled':
      return text(JSON.stringify(cancelled));
    case 'lists':
      return text(String(lists));
    case 'flood':
      for (let n = 0; n < input.times; n++) process.stderr.write('e'.repeat(1 << 20));
      return text('flooded');
    case 'env':
      return text(JSON.stringify(process.env));
    case 'throw':
      throw { code: -32000, message: 'disk on fire' };
    default:
      return text(`${name} ${JSON.stringify(input)}`);
  }
}
const sized = (chars) => `begin ${'é'.repeat(Math.max(0, chars - 10))} end`;
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function hear(message) {
  if (message.method && options.dieAt === message.method) process.exit(9);
  if (message.method && options.hangAt === message.method) return;
  if (message.method === 'notifications/cancelled') cancelled.push(message.params.requestId);
  const asking = questions.get(message.id);
  if (asking !== undefined && message.method === undefined) {
    questions.delete(message.id);
    print({ jsonrpc: '2.0', id: asking, result: text(JSON.stringify(message.result)) });
    return;
  }
  if (message.method === 'tools/list' && options.nested) {
    nested(message.id, options.nested);
    return;
  }
  const handler = handlers[message.method];
  if (message.id === undefined || !handler) return;
  if (options.noise)
    process.stdout.write('2026-01-01 INFO got a message\n{"level":"info"}\n\u0000\u0001\n');
  try {
    const given = options.answers?.[message.method];
    const result = given === undefined ? handler(message.params ?? {}, message.id) : given;
    if (message.method === 'tools/list') lists += 1;
    if (message.method === 'tools/list' && options.storm) storm(options.storm);
    if (result !== undefined) print({ jsonrpc: '2.0', id: message.id, result });
  } catch (error) {
    print({ jsonrpc: '2.0', id: message.id, error });
  }
}

let rest = '';
const listen = () => {
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim()) hear(JSON.parse(line));
  });
  if (!options.ignoresEnd) process.stdin.on('end', () => process.exit(0));
};
if (options.start === undefined) listen();
else if (options.start >= 0) setTimeout(listen, options.start);
