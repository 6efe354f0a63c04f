/** What the work needs beside a summary is there again: request, todos, files, budget; no old thinking. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { activeSkillsOf } from '../../../services/recovery/active-skills.ts';
import {
  callTool,
  callTools,
  message,
  say,
  text,
  thinking,
  tooLong,
  toolUse,
} from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { heard, tell } from '../../tools/story.ts';

const filler = hostTool('Fill', () => 'word '.repeat(6_000), { maxResultSizeChars: 50_000 });
const fill = (more = {}) => callTool('Fill', {}, more);
const window20k = { autoCompactWindow: 20_000 };

describe('CMP-04 after a summary', () => {
  it('the request, open todos, read files and skills stand there again, once', async () => {
    const request = 'Rename foo to bar ONLY in src, do not touch tests';
    const todos = [
      { content: 'A', status: 'completed', activeForm: 'A' },
      { content: 'B', status: 'in_progress', activeForm: 'B' },
      { content: 'C', status: 'pending', activeForm: 'C' },
    ];
    const told = await tell({
      prepare: ({ cwd }) => writeFileSync(join(cwd, 'notes.txt'), 'the notes of this project'),
      script: ({ cwd }) => ({
        replies: [
          callTools([
            ['Read', { file_path: join(cwd, 'notes.txt') }],
            ['TodoWrite', { todos }],
          ]),
          ...Array.from({ length: 3 }, () => fill()),
          say('done'),
        ],
        compactions: [say('<summary>nothing of note</summary>')],
      }),
      prompts: [request],
      options: window20k,
      config: (config) => {
        activeSkillsOf(config.readFileCache).set('style', 'The skill "style": write short lines.');
        return { tools: [...config.tools, filler] };
      },
    });
    expect(told.lines.filter((line) => line === 'compact_boundary').length).toBeGreaterThan(0);
    const last = told.requests.map(heard).at(-1)?.join('\n') ?? '';
    const times = (words: string) => last.split(words).length - 1;
    expect(times(request)).toBe(1);
    expect(times('- [in_progress] B\n- [pending] C')).toBe(1);
    expect(times('the notes of this project')).toBe(1);
    expect(times('write short lines')).toBe(1);
    expect(times('nothing of note')).toBe(1);
    expect(told.last.result).toBe('done');
  });

  it('a file that was shown before is shown again when it is read again', async () => {
    const told = await tell({
      prepare: ({ cwd }) => writeFileSync(join(cwd, 'a.txt'), `content ${'of it '.repeat(4_000)}`),
      script: ({ cwd }) => {
        const read = callTool('Read', { file_path: join(cwd, 'a.txt') });
        return { replies: [read, ...Array.from({ length: 5 }, () => fill()), read, say('done')] };
      },
      options: { autoCompactWindow: 40_000 },
      config: (config) => ({ tools: [...config.tools, filler] }),
    });
    expect(told.lines).toContain('compact_boundary');
    const reads = told.lines.filter((line) => line.startsWith('result') && line.includes('of it'));
    expect(reads).toHaveLength(2);
  });
});

describe('what is told to the API', () => {
  it('the rest of the task budget, once a summary has hidden what was spent', async () => {
    const told = await tell({
      script: { replies: [fill(), fill(), fill(), fill(), say('done'), say('again')] },
      prompts: ['do it', 'more'],
      options: { ...window20k, taskBudget: { total: 100_000 } },
      config: (config) => ({ tools: [...config.tools, filler] }),
    });
    expect(told.lines).toContain('compact_boundary');
    const budgets = told.requests.map(({ body }) => {
      const { task_budget } = body.output_config as { task_budget: Record<string, unknown> };
      return task_budget;
    });
    expect(budgets[0]).toEqual({ type: 'tokens', total: 100_000 });
    const spent = told.messages.flatMap((m) =>
      m.type === 'system' && m.subtype === 'compact_boundary'
        ? [m.compact_metadata.pre_tokens]
        : [],
    );
    const remaining = 100_000 - spent.reduce((a, b) => a + b, 0);
    expect(budgets.at(-2)).toEqual({ type: 'tokens', total: 100_000, remaining });
    // another prompt is another task
    expect(budgets.at(-1)).toEqual({ type: 'tokens', total: 100_000 });
  });

  const thoughtful = (n: number) =>
    message([thinking(`thought ${n}`), text(`step ${n}`), toolUse('Fill')]);
  it.each([
    ['claude-sonnet-5-5', 'adaptive', 0],
    ['claude-sonnet-4-5', 'enabled', 1],
  ] as const)('%s: thinking of a rewritten past', async (model, type, kept) => {
    const told = await tell({
      script: {
        replies: [1, 2, 3].map(thoughtful).concat(tooLong() as never, thoughtful(4), say('done')),
      },
      options: {
        model,
        thinking: type === 'adaptive' ? { type } : { type, budgetTokens: 2_000 },
      },
      config: (config) => ({ tools: [...config.tools, filler] }),
    });
    expect(told.transitions).toContain('reactive_compact_retry');
    const [retry, next] = told.requests.slice(-2);
    const thoughts = JSON.stringify(retry?.body.messages).match(/"type":"thinking"/g) ?? [];
    expect(thoughts).toHaveLength(kept);
    // what is thought from here on goes back as always
    expect(JSON.stringify(next?.body.messages)).toContain('thought 4');
    expect(next?.body.thinking).toMatchObject({ type });
  });
});
