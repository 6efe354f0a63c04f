/**
 * Every way in which a stream can die × every place × once and for ever. Whatever happens, the turn
 * ends with a reason of its own after a bounded number of requests, a call that was complete runs
 * exactly once, and its real result reaches the model.
 */
import { describe, expect, it } from 'vitest';
import {
  type Fault,
  forever,
  message,
  type Position,
  type ScriptedBlock,
  say,
  text,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { heard, tell } from '../../tools/story.ts';

type Kind = 'error event' | 'cut' | 'clean end' | 'garbage' | 'stall' | 'pings only' | 'drip';
const faults: Record<Kind, (after: Position) => Fault> = {
  'error event': (after) => ({ kind: 'error', after }),
  cut: (after) => ({ kind: 'cut', after }),
  'clean end': (after) => ({ kind: 'end', after }),
  garbage: (after) => ({ kind: 'garbage', after }),
  stall: (after) => ({ kind: 'stall', after }),
  'pings only': (after) => ({ kind: 'stall', after, pingEveryMs: 20 }),
  drip: (after) => ({ kind: 'drip', after, everyMs: 20 }),
};
/** The client must hang up itself: the server would not. */
const endless: readonly Kind[] = ['stall', 'pings only', 'drip'];

interface Spot {
  readonly content: readonly ScriptedBlock[];
  readonly after: Position;
  /** Complete calls in the stream. */
  readonly calls: number;
}
const places: Record<string, Spot> = {
  nothing: { content: [text('lost')], after: 'headers', calls: 0 },
  'the start': { content: [text('lost')], after: 'message_start', calls: 0 },
  'half a block': { content: [text('lost')], after: { block: 0, delta: 0 }, calls: 0 },
  'a text block': {
    content: [text('Kept. '), text('lost')],
    after: { block: 1, delta: 0 },
    calls: 0,
  },
  'a tool_use': { content: [toolUse('Quick'), text('lost')], after: { block: 0 }, calls: 1 },
  'two tool_uses, one running': {
    content: [toolUse('Quick'), toolUse('Slow')],
    after: { block: 1 },
    calls: 2,
  },
};

/** Far above what a healthy stream needs on a busy machine, far below the patience of a test. */
const QUIET_MS = 250;
const DRIP_MS = 600;

async function tellOf(kind: Kind, { content, after }: Spot, isForEver: boolean) {
  const ran: string[] = [];
  const broken = message(content, { fault: faults[kind](after) });
  const told = await tell({
    script: { replies: isForEver ? forever(broken, 12) : [broken, say('All done.')] },
    options: { includePartialMessages: true },
    environment: { ESCAPEMENT_STREAM_IDLE_MS: String(QUIET_MS) },
    limits: { retriesMax: 2, streamResumesMax: 1, streamMs: DRIP_MS },
    config: ({ model }) => ({
      model: { ...model, quietMs: QUIET_MS },
      tools: [
        hostTool('Quick', (_, { toolUseId }) => {
          ran.push(toolUseId);
          return 'quickly counted';
        }),
        hostTool('Slow', async (_, { toolUseId }) => {
          ran.push(toolUseId);
          await new Promise((resolve) => setTimeout(resolve, 100));
          return 'slowly counted';
        }),
      ],
    }),
    // A reset makes the system throw away what has arrived and was not read yet: with it goes a usage
    // that nobody was told. Every other death leaves the bytes that came before it.
    except: kind === 'cut' ? ['usage'] : [],
  });
  return { told, ran };
}

describe.concurrent.each(Object.keys(faults) as Kind[])('%s', (kind) => {
  for (const [place, spot] of Object.entries(places)) {
    it(`after ${place}, once: the turn completes`, async () => {
      const { told, ran } = await tellOf(kind, spot, false);
      expect(told.last).toMatchObject({ terminal_reason: 'completed', is_error: false });
      expect(told.requests.length).toBe(2);
      expect(told.last.result).toBe(place === 'a text block' ? 'Kept. All done.' : 'All done.');
      expect(ran.length).toBe(spot.calls);
      const read = told.requests.map(heard).at(-1)?.join('\n') ?? '';
      expect(read.match(/result \w+ counted/g)?.length ?? 0).toBe(spot.calls);
      expect(read).not.toContain('lost');
      if (endless.includes(kind)) {
        expect(told.server.log.some(({ type }) => type === 'client_closed')).toBe(true);
      }
    });

    it(`after ${place}, for ever: a bounded number of requests and a reason`, async () => {
      const { told, ran } = await tellOf(kind, spot, true);
      // Nothing kept: two tries more. Something kept: one resume.
      const keepsSomething = spot.calls > 0 || place === 'a text block';
      expect(told.requests.length).toBe(keepsSomething ? 2 : 3);
      expect(told.last.terminal_reason).toBe(kind === 'error event' ? 'api_error' : 'model_error');
      expect(told.last.subtype).toBe('error_during_execution');
      expect(new Set(ran).size).toBe(ran.length);
      expect(ran.length).toBe(2 * spot.calls);
      const results = told.history.filter((m) => m.kind === 'tool_result');
      expect(results.length).toBe(ran.length);
      expect(JSON.stringify(results).match(/ly counted/g)?.length ?? 0).toBe(ran.length);
    });
  }
});

describe('more than a dead stream', () => {
  it('a person is asked when it dies: the answer counts, and the tool runs once', async () => {
    const told = await tell({
      script: {
        replies: [
          message([toolUse('Bash', { command: 'echo allowed' })], {
            fault: { kind: 'cut', after: { block: 0 } },
          }),
          say('All done.'),
        ],
      },
      options: {
        permissionMode: 'default',
        settings: { permissions: { ask: ['Bash'] } },
        canUseTool: async () => {
          await new Promise((resolve) => setTimeout(resolve, 200));
          return { behavior: 'allow' };
        },
      },
      except: ['usage'],
    });
    expect(told.transitions).toEqual(['stream_resume']);
    expect(told.requests.map(heard).at(-1)?.at(-1)).toMatch(/^user: result allowed/);
  });

  it('an answer with more blocks than we take: what was taken stands, the rest is asked for', async () => {
    const told = await tell({
      script: {
        replies: [message(['1 ', '2 ', '3 ', '4 '].map((n) => text(n))), say('the rest')],
      },
      options: { includePartialMessages: true },
      limits: { blocksMax: 2 },
      except: ['usage'],
    });
    expect(told.transitions).toEqual(['stream_resume']);
    expect(told.last.result).toBe('1 2 the rest');
  });

  it('both models overloaded: bounded, and the reason is the overload', async () => {
    const told = await tell({
      script: { replies: forever({ kind: 'error', status: 529, error: overloadedError }) },
      options: { fallbackModel: 'claude-haiku-4-5' },
      limits: { retriesMax: 4 },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'api_error', api_error_status: 529 });
    expect(told.requests.length).toBeLessThan(10);
  });
});
const overloadedError = { type: 'overloaded_error', message: 'Overloaded' };
