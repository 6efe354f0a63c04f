/**
 * Blocks that lack what their kind must have, from everybody who can give one: a word of what is
 * wrong, nothing of it in history, and a session that goes on.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { soundBlocks } from '../../../services/journal/sound-blocks.ts';
import { outputOf } from '../../../services/mcp/result.ts';
import { presentable } from '../../../services/tools/executor/presentable.ts';
import type { Tool, ToolOutput } from '../../../services/tools/tool.ts';
import type { Prompt } from '../../../src/config.ts';
import { callTool, callTools, say } from '../../../src/testing/index.ts';
import { hostTool, pixel } from '../../tools/host-tool.ts';
import { heard, tell } from '../../tools/story.ts';

const broken: readonly (readonly [unknown, RegExp])[] = [
  [{ type: 'image' }, /content\[0\] is of the type image, and its "source" is missing: give it/],
  [
    { type: 'document', source: null },
    /type document, and its "source" is null: give it an object/,
  ],
  [{ type: 'image', source: { type: 'base64', data: 5 } }, /"source\.data" is of the type number/],
  [{ type: 'image', source: { type: 'url', url: 5 } }, /its "source\.url" is of the type number/],
  [{ type: 'image', source: {} }, /its "source\.type" is missing: give it a text/],
  [
    { type: 'document', source: { type: 'content', content: [{ type: 'image' }] } },
    /has a content\[0\] that is of the type image/,
  ],
  [{ type: 'text' }, /type text, and its "text" is missing: give it a text/],
  [{ type: 'search_result' }, /its "source" is missing/],
];
const onlyThese: readonly (readonly [unknown, RegExp])[] = [
  [null, /content\[0\] is null, and no block/],
  ['words', /content\[0\] is of the type string, and no block/],
  [{ text: 'a' }, /is a block without a type/],
  [{ type: 'tool_result' }, /its "tool_use_id" is missing/],
  [
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image' }] },
    /has a content\[0\] that/,
  ],
];
const shown = (block: unknown) => JSON.stringify(block);

describe('in a prompt', () => {
  it.each([...broken, ...onlyThese].map(([block, text]) => [shown(block), block, text] as const))(
    '%s: its turn says so, and the next one does not know of it',
    async (_, block, text) => {
      const told = await tell({
        script: { replies: [say('ok')] },
        prompts: [[block] as unknown as Prompt, 'and now?'],
      });
      const [first, second] = told.results;
      expect(first?.terminal_reason).toBe('turn_setup_failed');
      expect(first?.errors.join()).toMatch(text);
      expect(second).toMatchObject({ terminal_reason: 'completed', result: 'ok' });
      expect(told.requests.map(heard)).toEqual([['user: and now?']]);
    },
  );

  it('what is no JSON, no list and no name is told as well', async () => {
    const circle: Record<string, unknown> = { type: 'text', text: 'a' };
    circle.self = circle;
    const told = await tell({
      script: { replies: [say('ok')] },
      prompts: [[circle] as unknown as Prompt, 5 as unknown as Prompt, 'and now?'],
    });
    expect(told.results.map(({ errors }) => errors.join())).toEqual([
      expect.stringMatching(/content\[0\] cannot be written as JSON \(it contains itself\)/),
      expect.stringMatching(/neither a text nor a list of blocks/),
      '',
    ]);
  });

  it('one that comes beside a turn is refused at once', async () => {
    const told = await tell({
      script: { replies: [callTool('Look', {}), say('ok')] },
      config: () => ({ tools: [hostTool('Look', () => 'seen')] }),
      during: (message, engine) => {
        if (message.type !== 'assistant') return;
        expect(() => engine.enqueue([{ type: 'image' }] as unknown as Prompt)).toThrow(
          /content\[0\] is of the type image/,
        );
      },
    });
    expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'ok' });
  });
});

/** A tool whose output is given. */
const giving = (content: unknown, more: Partial<Tool> = {}): Tool =>
  hostTool('Give', () => '', { call: async () => ({ content }) as never, ...more });

describe('in the output of a tool', () => {
  it.each(broken.map(([block, text]) => [shown(block), block, text] as const))(
    '%s: the result is an error that says so',
    async (_, block, text) => {
      const told = await tell({
        script: { replies: [callTool('Give', {}), say('ok'), say('again')] },
        prompts: ['do it', 'and now?'],
        config: () => ({ tools: [giving([block])] }),
      });
      expect(told.results.map(({ terminal_reason: why }) => why)).toEqual([
        'completed',
        'completed',
      ]);
      const result = told.lines.find((line) => line.startsWith('result')) ?? '';
      expect(result).toMatch(/^result \(error\) "\(left out of this result: content\[0\]/);
      expect(JSON.parse(result.slice('result (error) '.length).replace(/…$/, '"'))).toMatch(text);
    },
  );

  it('what is sound beside it stays, and is what it was when it was given', async () => {
    const mine = [{ type: 'image' }, { type: 'text', text: 'kept' }, { ...pixel }];
    const told = await tell({
      script: { replies: [callTool('Give', {}), say('ok')] },
      config: () => ({ tools: [giving(mine)] }),
      during: (message) => {
        if (message.type === 'user')
          for (const block of mine) Object.assign(block, { text: 5, source: 5 });
      },
    });
    expect(told.last.terminal_reason).toBe('completed');
    const [block] = told.history
      .flatMap(({ content }) => content)
      .filter((b) => b.type === 'tool_result');
    expect(block).toMatchObject({
      content: [
        { type: 'text', text: expect.stringMatching(/^\(left out of this result: content\[0\]/) },
        { type: 'text', text: 'kept' },
        pixel,
      ],
    });
    expect(block).not.toHaveProperty('is_error');
  });

  it('a hook that replaces it with such a one is told in its place', async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const updatedToolOutput of [
      [{ type: 'image' }],
      { content: [{ type: 'document' }] },
      circle,
    ]) {
      const told = await tell({
        script: { replies: [callTool('Give', {}), say('ok'), say('again')] },
        prompts: ['do it', 'and now?'],
        options: {
          hooks: {
            PostToolUse: [
              {
                hooks: [
                  async () => ({
                    hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput },
                  }),
                ],
              },
            ],
          },
        },
        config: () => ({ tools: [giving('fine')] }),
      });
      expect(told.results.map(({ terminal_reason: why }) => why)).toEqual([
        'completed',
        'completed',
      ]);
    }
  });
});

const circle: Record<string, unknown> = {};
circle.self = circle;

describe('an edited input that is no JSON', () => {
  it('from the host: the call is not run, and the session goes on', async () => {
    let runs = 0;
    const told = await tell({
      script: { replies: [callTool('Give', {}), say('ok'), say('again')] },
      prompts: ['do it', 'and now?'],
      options: {
        permissionMode: 'default',
        canUseTool: async () => ({ behavior: 'allow', updatedInput: circle }) as const,
      },
      config: () => ({
        tools: [
          giving('ran', {
            touches: () => ({ kind: 'unknown' }),
            call: async () => {
              runs += 1;
              return { content: 'ran' };
            },
          }),
        ],
      }),
    });
    expect(runs).toBe(0);
    expect(told.lines.join('\n')).toMatch(
      /the host changed its input to a wrong one: it is no JSON: it contains itself/,
    );
    expect(told.results.map(({ terminal_reason: why }) => why)).toEqual(['completed', 'completed']);
  });

  it('from a hook: it has failed alone, what another one says holds', async () => {
    const told = await tell({
      script: { replies: [callTool('Give', {}), say('ok'), say('again')] },
      prompts: ['do it', 'and now?'],
      options: {
        hooks: {
          PreToolUse: [
            { hooks: [async () => ({ hookSpecificOutput: { updatedInput: circle } })] },
            { hooks: [async () => ({ decision: 'block', reason: 'guarded' })] },
          ],
        },
      },
      config: () => ({ tools: [giving('ran')] }),
    });
    expect(told.lines).toContain(
      'warning PreToolUse callback failed: its answer is no JSON: it contains itself',
    );
    expect(told.lines).toContain('result (error) "guarded"');
    expect(told.results.map(({ terminal_reason: why }) => why)).toEqual(['completed', 'completed']);
  });
});

/** Junk that looks like blocks: the kinds that are known, each with fields of any kind. */
const junkBlock = fc.letrec((tie) => ({
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record(
      {
        type: fc.constantFrom(
          ...['text', 'image', 'document', 'search_result', 'tool_reference', 'tool_result'],
          ...['tool_use', 'thinking', 'hologram', '', null, 5],
        ),
        text: tie('value'),
        source: tie('value'),
        content: tie('value'),
        tool_use_id: tie('value'),
        title: tie('value'),
        thinking: tie('value'),
        data: tie('value'),
      },
      { requiredKeys: ['type'] },
    ),
    tie('value'),
  ),
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 5, '', 'words', true, Number.NaN, 'a\ud800', {}, []),
    fc.record(
      {
        type: fc.constantFrom('base64', 'url', 'text', 'content', 'file', 'odd', 5, null),
        data: fc.constantFrom('', 'zz', 5, null),
        media_type: fc.constantFrom('image/png', 5, null),
        url: fc.constantFrom('https://a.b', 5),
        content: tie('value'),
      },
      { requiredKeys: [] },
    ),
    fc.array(tie('block'), { maxLength: 2 }),
  ),
})).block;

const junk = fc.oneof(fc.array(junkBlock, { maxLength: 3 }), junkBlock);

it('whatever stands in a prompt, an output or what a hook says, the session goes on', async () => {
  const given = fc.array(junk, { minLength: 12, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(given, given, given, async (prompts, outputs, replaced) => {
      const calls = () =>
        callTools([
          ['Give', {}],
          ['Hooked', {}],
        ]);
      const told = await tell({
        script: { replies: [...outputs.map(calls), say('done')], whenExhausted: say('ok') },
        prompts: ['use them', ...(prompts as Prompt[]), 'and now?'],
        options: {
          hooks: {
            PostToolUse: [
              {
                matcher: 'Hooked',
                hooks: [
                  async () => ({ hookSpecificOutput: { updatedToolOutput: replaced.pop() } }),
                ],
              },
            ],
          },
        },
        config: () => ({
          tools: [
            hostTool('Give', () => '', { call: async () => ({ content: outputs.pop() }) as never }),
            hostTool('Hooked', () => 'x'),
          ],
        }),
      });
      const reasons = told.results.map(({ terminal_reason: why }) => why);
      expect(reasons.at(0)).toBe('completed');
      expect(reasons.at(-1)).toBe('completed');
      expect(reasons.filter((why) => !/^(completed|turn_setup_failed)$/.test(why))).toEqual([]);
    }),
    { numRuns: 4 },
  );
});

it('whatever a server or a tool gives is made of sound blocks', async () => {
  const resultsFolder = mkdtempSync(join(tmpdir(), 'escapement-blocks-'));
  const { signal } = new AbortController();
  const context = { signal, resultsFolder, toolUseId: 't' } as never;
  await fc.assert(
    fc.asyncProperty(junk, async (content) => {
      for (const output of [{ content }, await outputOf({ content }, context)]) {
        const { content: kept } = presentable(output as ToolOutput);
        const blocks = [{ type: 'tool_result', tool_use_id: 't', content: kept }];
        expect(soundBlocks(blocks)?.damaged).toBe(0);
      }
    }),
  );
  rmSync(resultsFolder, { recursive: true });
});
