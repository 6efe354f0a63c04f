/** A server asks a person in the middle of a call: every clock stands still meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ElicitationQuestion } from '../../../services/mcp/elicitation.ts';
import { callTool, callTools, say, toolResults } from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';
import { odd } from './kit.ts';

const accepted = '{"action":"accept","content":{"which":"the blue one"}}';
const accept = async () => JSON.parse(accepted) as unknown;
const states = (lines: readonly string[]) => lines.filter((line) => line.startsWith('state '));
const ask = ['mcp__srv__ask', {}] as const;

/** In this process, as the SDK's servers are: `send` and `onmessage` of the transport it is given. */
const inProcess = () => {
  type Message = { id?: unknown; method?: string; params?: Record<string, unknown> };
  let call: unknown;
  let mayAsk = false;
  return {
    async connect(transport: {
      onmessage?: (message: never) => void;
      send(message: never): Promise<void>;
    }) {
      const send = (message: object) => transport.send({ jsonrpc: '2.0', ...message } as never);
      const answers: Record<string, (message: Message) => unknown> = {
        initialize: ({ params }) => {
          mayAsk = Object.hasOwn(params?.capabilities as object, 'elicitation');
          return { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {} };
        },
        'tools/list': () => ({ tools: [{ name: 'ask', inputSchema: { type: 'object' } }] }),
      };
      transport.onmessage = ((message: Message & { result?: unknown }) => {
        if (message.method === 'tools/call' && mayAsk) {
          call = message.id;
          const params = { message: 'Which one?' };
          void send({ id: 'q', method: 'elicitation/create', params });
        } else if (message.id === 'q' && message.method === undefined) {
          const content = [{ type: 'text', text: JSON.stringify(message.result) }];
          void send({ id: call, result: { content } });
        } else if (message.id !== undefined) {
          void send({ id: message.id, result: answers[message.method ?? '']?.(message) });
        }
      }) as never;
    },
  };
};

it.each([
  ['a program', () => odd()],
  ['in the host’s process', () => ({ type: 'sdk', name: 'srv', instance: inProcess() })],
])(
  'handleElicitation: asked by a server that is %s; the host sees who waits',
  async (_, server) => {
    const asked: ElicitationQuestion[] = [];
    const signals: AbortSignal[] = [];
    const takenBack: boolean[] = [];
    const told = await tell({
      script: { replies: [callTool('mcp__srv__ask', {}), say('done')] },
      options: { mcpServers: { srv: server() } },
      config: () => ({
        handleElicitation: async (question, signal) => {
          asked.push(question);
          signals.push(signal);
          return accept();
        },
      }),
      during: (message) => {
        if (message.type !== 'result') return; // afterwards the server is closed
        takenBack.push(...signals.map(({ aborted }) => aborted));
      },
    });
    expect(asked).toMatchObject([{ serverName: 'srv', message: 'Which one?', mode: 'form' }]);
    expect(takenBack).toEqual([false]);
    expect(states(told.lines)).toEqual(['state requires_action', 'state running']);
    const [, second] = told.requests;
    expect(second && toolResults(second)[0]?.text).toBe(accepted);
  },
);

it('a person may think longer than a call may last, and than the turn may', async () => {
  const told = await tell({
    script: { replies: [callTool('mcp__srv__ask', {}), say('done')] },
    options: { mcpServers: { srv: odd() }, maxDurationMs: 4_000 },
    environment: { MCP_TOOL_TIMEOUT: '1500' },
    config: () => ({
      handleElicitation: async () => {
        await sleep(5_000);
        return accept();
      },
    }),
  });
  const [, second] = told.requests;
  expect(second && toolResults(second)[0]?.text).toBe(accepted);
  expect(told.last.terminal_reason).toBe('completed');
}, 20_000);

it('each call that waits has its own answer; the clock goes on after the last', async () => {
  const told = await tell({
    script: { replies: [callTools([ask, ask]), say('done')] },
    options: { mcpServers: { srv: odd() } },
    config: () => ({ handleElicitation: accept }),
  });
  const [, second] = told.requests;
  expect(second && toolResults(second).map(({ text }) => text)).toEqual([accepted, accepted]);
  expect(states(told.lines).at(-1)).toBe('state running');
});

it('an interrupt takes the question back, also from a host that never answers', async () => {
  let isTakenBack = false;
  const told = await tell({
    script: { replies: [callTool('mcp__srv__ask', {})] },
    options: { mcpServers: { srv: odd() } },
    config: () => ({
      handleElicitation: (_, signal) => {
        signal.addEventListener('abort', () => {
          isTakenBack = true;
        });
        return new Promise(() => {});
      },
    }),
    during: (message, engine) => {
      const isAsked = message.type === 'system' && message.subtype === 'session_state_changed';
      if (isAsked && message.state === 'requires_action') engine.interrupt();
    },
  });
  expect(told.last.terminal_reason).toBe('aborted_tools');
  expect(isTakenBack).toBe(true);
});

it('without it servers know that nobody answers', async () => {
  const told = await tell({
    script: { replies: [callTool('mcp__srv__ask', {}), say('done')] },
    options: { mcpServers: { srv: odd() } },
  });
  const [, second] = told.requests;
  expect(second && toolResults(second)[0]?.text).toBe('nobody answers');
});
