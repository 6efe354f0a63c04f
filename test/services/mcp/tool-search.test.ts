/** More tools than a request should carry. */
import { describe, expect, it } from 'vitest';
import { externalTools } from '../../../services/mcp/external-tool.ts';
import { deferredTools } from '../../../services/mcp/tool-search.ts';
import {
  callTool,
  callTools,
  message,
  say,
  toolNames,
  toolResults,
  toolUse,
} from '../../../src/testing/index.ts';
import { openPlace } from '../../src/resume/kit.ts';
import { tell } from '../../tools/story.ts';
import { call, odd, textOf } from './kit.ts';

const numbered = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `tool_${n}`, description: `makes ${n} cakes` }));
const made = (count: number) =>
  externalTools('srv', numbered(count), async () => ({ content: [] }), 1_000).tools;

describe('many external tools', () => {
  it('forty are offered as they are, one more is behind the search', () => {
    expect(deferredTools()(made(40))).toHaveLength(40);
    expect(deferredTools()(made(41)).map(({ name }) => name)).toEqual(['ToolSearch']);
  });

  it('what was found is offered, in the order in which it was found', async () => {
    const offer = deferredTools();
    const search = (query: string) => call({ tools: offer(made(60)) }, 'ToolSearch', { query });
    expect(textOf(await search('select:tool_50'))).toContain('mcp__srv__tool_50: makes 50 cakes');
    expect(textOf(await search('tool_7'))).toContain('mcp__srv__tool_7');
    expect(
      offer(made(60))
        .map(({ name }) => name)
        .slice(0, 2),
    ).toEqual(['ToolSearch', 'mcp__srv__tool_50']);
    expect(await search('zebra')).toMatchObject({ isError: true });
    const [tool] = offer(made(60));
    expect(tool?.parse({})).toMatchObject({ ok: false });
  });

  it('the model searches, sees the schema, and calls', async () => {
    const told = await tell({
      script: {
        replies: [
          callTool('ToolSearch', { query: 'select:mcp__srv__tool_44' }),
          callTool('mcp__srv__tool_44', { n: 1 }),
          say('ok'),
        ],
      },
      options: { mcpServers: { srv: odd({ tools: numbered(45) }) } },
    });
    const names = told.requests.map((request) =>
      toolNames(request).filter((name) => name.startsWith('mcp__') || name === 'ToolSearch'),
    );
    expect(names.slice(0, 2)).toEqual([['ToolSearch'], ['ToolSearch', 'mcp__srv__tool_44']]);
    const [result] = told.requests[2] ? toolResults(told.requests[2]) : [];
    expect(result).toMatchObject({ text: 'tool_44 {"n":1}' });
  });

  it('a resumed session goes on with what was found', async () => {
    const place = openPlace();
    const options = {
      mcpServers: { srv: odd({ tools: numbered(45) }) },
      allowedTools: ['mcp__srv'],
    };
    const search = (query: string) => ['ToolSearch', { query }] as const;
    const first = await place.run({
      script: {
        replies: [callTools([search('select:tool_44'), search('select:tool_7')]), say('ok')],
      },
      options,
    });
    const again = await place.run({
      script: {
        replies: [message([toolUse('mcp__srv__tool_7', {}, { id: 'toolu_7' })]), say('more')],
      },
      options: { ...options, resume: first.sessionId },
    });
    const offers = again.requests.map((request) =>
      toolNames(request).filter((name) => name.startsWith('mcp__') || name === 'ToolSearch'),
    );
    const all = ['ToolSearch', 'mcp__srv__tool_44', 'mcp__srv__tool_7'];
    expect(offers).toEqual([all, all]);
    const [, last] = again.requests;
    expect(last && toolResults(last).at(-1)?.text).toBe('tool_7 {}');
    place.close();
  });
});
