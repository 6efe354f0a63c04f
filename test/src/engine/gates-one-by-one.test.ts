/**
 * What each gate does, seen on the wire: the same story with it open and with it shut. The gates
 * beside it are open or shut so that nothing else could have done it.
 */
import { describe, expect, it } from 'vitest';
import { defaultGates, type Gates } from '../../../src/config.ts';
import {
  callTool,
  computed,
  message,
  overloaded,
  say,
  text,
  thinking,
  tooLong,
  toolUse,
} from '../../../src/testing/index.ts';
import { collapsing, digs, findings, onceStaged, textOf, until } from '../../tools/collapses.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { type Story, type Told, tell } from '../../tools/story.ts';

/** Nothing makes room. */
const shut: Partial<Gates> = {
  toolResultBudget: false,
  microcompact: false,
  cachedMicrocompact: false,
  contextCollapse: false,
  autocompact: false,
  reactiveCompact: false,
  emitToolUseSummaries: false,
};

interface Case extends Omit<Story, 'script'> {
  readonly script: (isOpen: boolean) => Story['script'];
  /** Whether that which the gate opens was done. */
  readonly isDone: (told: Told) => boolean;
  readonly endsAs?: (isOpen: boolean) => string;
}

const asked = (purpose: 'compact' | 'collapse' | 'tool_summary') => (told: Told) =>
  told.server.requestsOf(purpose).length > 0;
const lastSays = (words: string) => (told: Told) => textOf(told.requests.at(-1)).includes(words);
const greps = Array.from({ length: 9 }, (_, n) => callTool('Grep', { n }));
const long = `remember ${'x'.repeat(60_000)}`;
/** Whether the first answer had ended when its call ran. */
let hadEnded: boolean | undefined;

const cases: Readonly<Partial<Record<keyof Gates, Case>>> = {
  streamingToolExecution: {
    script: () => ({
      replies: [
        message([toolUse('Look'), { ...text('and so on'), startDelayMs: 3_000 }]),
        say('done'),
      ],
    }),
    config: (_, { server }) => ({
      tools: [
        hostTool('Look', () => {
          hadEnded = server.log.some((one) => one.type === 'answered' && one.request === 0);
          return 'seen';
        }),
      ],
    }),
    isDone: (told) => hadEnded === false && lastSays('seen')(told),
  },
  toolResultBudget: {
    script: () => ({ replies: [callTool('Look'), say('done')] }),
    config: () => ({ tools: [hostTool('Look', () => 'so it is. '.repeat(6_000))] }),
    isDone: (told) =>
      lastSays('too many to show here')(told) && textOf(told.requests.at(-1)).length < 10_000,
  },
  microcompact: {
    script: () => ({ replies: [...greps, say('done')] }),
    config: () => ({
      tools: [hostTool('Grep', ({ n }) => `hit ${String(n)} of it\n`.repeat(2_500))],
    }),
    isDone: lastSays('was cleared to save room'),
  },
  cachedMicrocompact: {
    gates: { ...shut, microcompact: true },
    script: () => ({ replies: [callTool('Look'), say('done')] }),
    config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
    isDone: ({ requests }) => requests.every(({ body }) => body.context_management !== undefined),
  },
  contextCollapse: {
    gates: { ...shut, autocompact: true },
    script:
      (isOpen) =>
      ({ home }) => ({
        replies: isOpen
          ? [...digs(0, 7), ...digs(7, 9).map((dig) => onceStaged(home, 1, dig)), say('done')]
          : [...digs(0, 9), say('done')],
        collapses: [findings],
      }),
    config: () => collapsing({ gates: {} }),
    except: ['usage'], // a summary may be on its way when the turn ends
    isDone: (told) => asked('collapse')(told) && lastSays('FOLDED')(told),
  },
  autocompact: {
    script: () => ({ replies: [...digs(0, 9), say('done')] }),
    config: () => collapsing({ gates: {} }),
    isDone: asked('compact'),
    endsAs: (isOpen) => (isOpen ? 'completed' : 'blocking_limit'),
  },
  reactiveCompact: {
    script: () => ({ replies: [say('Noted.'), say('Noted, too.'), tooLong(), say('done')] }),
    prompts: [long, 'and this', 'go on'],
    isDone: asked('compact'),
    endsAs: (isOpen) => (isOpen ? 'completed' : 'prompt_too_long'),
  },
  emitToolUseSummaries: {
    script: (isOpen) => {
      let isAsked = () => !isOpen;
      return {
        replies: [
          callTool('Look'),
          computed(async (_, __) => {
            await until(() => isAsked());
            return callTool('Look');
          }),
          say('done'),
        ],
        toolSummaries: [
          computed(
            () => {
              isAsked = () => true;
              return 'Looked';
            },
            { times: 'always' },
          ),
        ],
      };
    },
    config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
    isDone: asked('tool_summary'),
  },
  stripSignatures: {
    // A server whose models are one under several names takes it; the API would refuse it.
    except: ['legal'],
    script: () => ({
      strict: false,
      replies: [
        message([thinking('my own thought'), text('one')]),
        overloaded({ times: 3 }),
        say('two'),
      ],
    }),
    prompts: ['think', 'go on'],
    options: { fallbackModel: 'claude-haiku-4-5' },
    config: () => ({ thinkingConfig: { type: 'enabled', budgetTokens: 2_000 } }),
    isDone: (told) =>
      told.requests.at(-1)?.body.model === 'claude-haiku-4-5' && !lastSays('my own thought')(told),
  },
};

describe.each(Object.entries(cases))('%s', (gate, { script, isDone, endsAs, ...story }) => {
  it.each([true, false])('open: %s', async (isOpen) => {
    hadEnded = undefined;
    const gates = { ...defaultGates, ...shut, ...story.gates, [gate]: isOpen };
    const told = await tell({ ...story, script: script(isOpen), gates });
    expect(isDone(told)).toBe(isOpen);
    expect(told.last.terminal_reason).toBe(endsAs?.(isOpen) ?? 'completed');
  });
});

it('every gate has its story, but for one that changes nothing', () => {
  const told = new Set([...Object.keys(cases), 'fastModeEnabled']);
  expect(told).toEqual(new Set(Object.keys(defaultGates)));
});
