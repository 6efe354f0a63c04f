/** How full the window is: for hosts, by category, at every moment. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContextUsage } from '../../../src/context-usage.ts';
import { say } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { tell } from '../../tools/story.ts';

const isSound = (usage: ContextUsage) => {
  const numbers = [
    usage.totalTokens,
    usage.maxTokens,
    usage.percentage,
    ...usage.categories.map(({ tokens }) => tokens),
    ...usage.gridRows.flat().map(({ percentage }) => percentage),
  ];
  expect(numbers.every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true);
  expect(usage.percentage).toBeLessThanOrEqual(100);
};
const tokensOf = (usage: ContextUsage, id: string) =>
  usage.categories.find((category) => category.id === id)?.tokens ?? 0;

describe('contextUsage()', () => {
  it('is there before the first turn, and counts what came since', async () => {
    const seen: ContextUsage[] = [];
    const told = await tell({
      script: { replies: [say('one'), say('two')] },
      prompts: [`short`, `long ${'word '.repeat(20_000)}`],
      config: (config) => ({
        tools: [...config.tools, hostTool('mcp__far__away', () => 'x')],
        memory: [`From ${config.cwd}/AGENTS.md:\n${'be good '.repeat(500)}`],
      }),
      during: async (message, engine) => {
        const isBegin = message.type === 'system' && message.subtype === 'init';
        if (isBegin || message.type === 'result') seen.push(await engine.contextUsage());
      },
    });
    seen.forEach(isSound);
    const [first, , , last] = seen;
    if (!first || !last) throw new Error('not asked');
    expect(tokensOf(first, 'system_tools')).toBeGreaterThan(500);
    expect(tokensOf(first, 'mcp_tools')).toBeGreaterThan(0);
    expect(first.mcpTools).toMatchObject([{ name: 'mcp__far__away', serverName: 'far' }]);
    expect(first.memoryFiles).toMatchObject([{ path: `${told.cwd}/AGENTS.md`, type: 'Project' }]);
    expect(tokensOf(first, 'memory_files')).toBeGreaterThan(1_000);
    expect(first.apiUsage).toBeNull();
    // the second prompt has about 100,000 characters
    expect(tokensOf(last, 'messages') - tokensOf(first, 'messages')).toBeGreaterThan(20_000);
    expect(last.apiUsage?.output_tokens).toBeGreaterThan(0);
    // what the API said is what is shown, but for the answer and nothing else
    const { input_tokens: a, cache_read_input_tokens: b, ...usage } = last.apiUsage ?? never();
    const reported = a + b + usage.cache_creation_input_tokens + usage.output_tokens;
    expect(last.totalTokens).toBe(reported);
    expect(last).toMatchObject({ isAutoCompactEnabled: true, rawMaxTokens: 200_000 });
  });

  it('all rows together are the window', async () => {
    await tell({
      script: { replies: [say('one')] },
      options: { autoCompactWindow: 40_000 },
      after: async (engine) => {
        const { categories, maxTokens, gridRows } = await engine.contextUsage();
        const sum = categories.reduce((total, { tokens }) => total + tokens, 0);
        expect(sum).toBe(40_000);
        expect(maxTokens).toBe(30_000);
        expect(gridRows.flat()).toHaveLength(100);
      },
    });
  });

  it('CMP-03 usage that is missing, null or nonsense: no summary, no NaN', async () => {
    const number = fc.oneof(fc.constantFrom<number | null>(null, 0, -5), fc.nat({ max: 3_000 }));
    const replies = fc
      .sample(fc.record({ input_tokens: number, output_tokens: number }), { numRuns: 6, seed: 7 })
      .map((usage, at) => say(`answer ${at}`, { usage }));
    const told = await tell({
      script: { replies },
      prompts: ['1', '2', '3', '4', '5', '6'],
      except: ['usage'],
      during: async (message, engine) => {
        if (message.type === 'result') isSound(await engine.contextUsage());
      },
    });
    expect(told.server.requestsOf('compact')).toEqual([]);
    expect(told.results.every(({ is_error }) => !is_error)).toBe(true);
  });
});

const never = (): never => {
  throw new Error('no usage');
};
