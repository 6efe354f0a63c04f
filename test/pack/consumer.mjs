/**
 * What a consumer does with the two packages, as they were packed: copied into its folder and run
 * there. Prints one line of JSON.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { engineFromOptions } from 'escapement';
import { queryMachine } from 'escapement/machine';
import { say, startScriptedServer } from 'escapement/testing';
import { createV4Bridge, receiverOf } from 'escapement-xstate-inspect';

/** @param {import('node:http').Server} server */
const portOf = async (server) => {
  await new Promise((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};
/** @param {string} name @param {string} from a package of the consumer's */
const versionSeenBy = (name, from) => {
  const require = createRequire(fileURLToPath(import.meta.resolve(from)));
  const found = require.resolve(name).replace(/(.*node_modules\/[^/]+\/).*/, '$1package.json');
  return require(found).version;
};
/** The consumer's own actor, if it has XState itself. */
const ownActor = async (/** @type {typeof bridge.inspect} */ inspect) => {
  if (!process.argv.includes('--xstate')) return;
  const { createActor, createMachine } = await import('xstate');
  createActor(createMachine({ id: 'of the host' }), { inspect }).start();
};

const bridge = createV4Bridge();
const server = createServer();
server.on('upgrade', (request, socket, head) => bridge.connect(request, socket, head));
const port = await portOf(server);
/** @type {Map<string, string[]>} */
const seen = new Map();
const receiver = receiverOf(`http://127.0.0.1:${port}/token/`);
/** @type {string[]} */
const machines = [];
const isReady = new Promise((resolve) => {
  receiver.subscribe((event) => {
    if (event.type === 'service.register') {
      machines.push(event.machine.id);
      resolve(undefined);
    }
    if (event.type !== 'service.state') return;
    const states = seen.get(event.sessionId) ?? [];
    seen.set(event.sessionId, [...states, JSON.stringify(event.state.value)]);
  });
});

await ownActor(bridge.inspect);
// without one of its own the first that is told of is not there yet: anything with a life will do
const first = {
  id: 'first',
  sessionId: 'first',
  getSnapshot: () => ({ status: 'active', context: {} }),
  send: () => {},
};
bridge.inspect({ type: '@xstate.event', actorRef: first, event: { type: 'xstate.init' } });
await isReady;

const model = await startScriptedServer({ replies: [say('hello')] });
const home = mkdtempSync(path.join(tmpdir(), 'escapement-consumer-'));
const engine = await engineFromOptions(
  { cwd: home, settingSources: [] },
  { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'none', ESCAPEMENT_HOME: home, HOME: home },
);
engine.inspect = bridge.inspect;
let answer = '';
for await (const message of engine.submitMessage('hi')) {
  if (message.type === 'result' && 'result' in message) answer = message.result;
}
await engine.close();
const isOver = () => [...seen.values()].some((states) => states.includes('"terminal"'));
while (!isOver()) await new Promise((resolve) => setTimeout(resolve, 10));

console.log(
  JSON.stringify({
    answer,
    machines: machines.filter((id) => id === 'query' || id === 'of the host'),
    states: Object.keys(queryMachine.root.states).length,
    ours: versionSeenBy('xstate', 'escapement'),
    bridges: versionSeenBy('xstate', 'escapement-xstate-inspect'),
  }),
);
bridge.close();
server.close();
await model.close();
rmSync(home, { recursive: true, force: true });
