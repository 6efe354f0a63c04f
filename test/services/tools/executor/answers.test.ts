/** Every call is answered, whatever is wrong with it. */
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../../services/tools/executor/answer.ts';
import { bench, safe, tool } from './bench.ts';

const echo = tool('echo', ({ tag }) => String(tag), safe);

describe('calls that do not run', () => {
  it('TOOL-06 names the unknown tool and the available ones, asks no hook and no person', async () => {
    const heard: string[] = [];
    const at = bench([echo], {
      runHooks: async (event) => {
        heard.push(event);
        return { blocked: [], additionalContext: [], warnings: [] };
      },
    });
    at.add('t1', 'read_file', { path: '/a' });
    at.add('t2', 'Echo', { tag: 'x' });
    await at.drained();
    expect(at.result('t1')).toMatchObject({ isError: true });
    expect(at.result('t1').text).toContain('read_file');
    expect(at.result('t1').text).toContain('echo');
    expect(at.result('t2').isError).toBe(true); // names are matched exactly
    expect(heard).toEqual(['PostToolBatch']);
  });

  it('TOOL-05 says which parameter is wrong', async () => {
    const at = bench([echo]);
    at.add('t', 'echo', { tag: 42 });
    await at.drained();
    expect(at.result('t').text).toContain('the parameter "tag" is missing');
  });

  it('never runs a call that was cut, and names the output limit', async () => {
    const at = bench([echo]);
    const raw = `{"tag":"${'y'.repeat(5_000)}`;
    at.add('t', 'echo', {}, { cause: 'cut', raw, detail: 'unexpected end' });
    await at.drained();
    expect(at.result('t').isError).toBe(true);
    expect(at.result('t').text).toMatch(/output limit.*\{"tag":"yyy/s);
    expect(at.result('t').text.length).toBeLessThan(3_000);
  });

  it('quotes an input that does not parse', async () => {
    const at = bench([echo]);
    at.add('t', 'echo', {}, { cause: 'unparsable', raw: '{"tag":', detail: 'at position 7' });
    await at.drained();
    expect(at.result('t').text).toMatch(/did not parse.*at position 7.*\{"tag":/s);
  });
});

describe('results', () => {
  it('are in the log before the event, with the structured twin for the host', async () => {
    const rich = tool('rich', () => '', {
      call: async () => ({ content: 'text', data: { lines: 3, lone: 'a\ud800' } }),
    });
    const at = bench([rich]);
    at.add('t', 'rich', { tag: 'x' });
    await at.drained();
    expect(at.result('t').message).toMatchObject({
      ...{ role: 'user', kind: 'tool_result', toolUseId: 't', origin: 'tool' },
      toolUseResult: { lines: 3, lone: 'a\ufffd' },
    });
  });

  it('are never empty, never ill-formed, never endless', async () => {
    const contents = {
      empty: '',
      blank: ' \n',
      lone: 'a\ud800b',
      none: [],
      blankBlocks: [{ type: 'text' as const, text: ' ' }],
      strange: [{ type: 'hologram', depth: 3 }] as never,
      endless: 'z'.repeat(10_000_100),
    };
    const tools = Object.entries(contents).map(([name, content]) =>
      tool(name, () => '', { ...safe, call: async () => ({ content }) }),
    );
    const nothing = tool('nothing', () => '', { call: (async () => undefined) as never });
    const at = bench([...tools, nothing]);
    for (const { name } of [...tools, nothing]) at.add(name, name, { tag: 'x' });
    await at.drained();
    for (const name of ['empty', 'blank', 'none', 'blankBlocks', 'nothing']) {
      expect(at.result(name).text).toBe('(no output)');
    }
    expect(at.result('lone').text).toBe('a\ufffdb');
    expect(at.result('strange').text).toBe('{"type":"hologram","depth":3}');
    expect(at.result('endless').text).toMatch(/z\n\(100 more characters were left out\)$/);
  });

  it('hold text only when they are errors: the API refuses an image there', async () => {
    const shown = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AA' },
    } as const;
    const bad = tool('bad', () => '', { call: async () => ({ content: [shown], isError: true }) });
    const good = tool('good', () => '', { call: async () => ({ content: [shown] }) });
    const at = bench([bad, good]);
    at.add('b', 'bad', { tag: 'x' });
    at.add('g', 'good', { tag: 'x' });
    await at.drained();
    expect(at.result('b').text).toBe('(image left out of an error)');
    expect(at.result('g').text).toBe('<image>');
  });

  it('have the same fingerprint for the same call and result, in any order of keys', () => {
    const one = fingerprintOf('t', { a: 1, b: { c: 2, d: 3 } }, { content: 'r', isError: false });
    const same = fingerprintOf('t', { b: { d: 3, c: 2 }, a: 1 }, { content: 'r', isError: false });
    const other = fingerprintOf('t', { a: 1, b: { c: 2, d: 3 } }, { content: 's', isError: false });
    expect(same).toBe(one);
    expect(other).not.toBe(one);
  });

  it('say whether a wanted shape was met', async () => {
    const values: unknown[] = [];
    const at = bench([tool('StructuredOutput', () => 'ok')], {
      structuredOutput: { toolName: 'StructuredOutput', onValue: (value) => values.push(value) },
    });
    at.add('1', 'StructuredOutput', { wrong: 1 });
    at.add('2', 'StructuredOutput', { tag: 'v' });
    await at.drained();
    const tries = at.events.map((e) => (e.type === 'tool.result' ? [e.id, e.schemaTry] : []));
    expect(tries).toContainEqual(['1', 'invalid']);
    expect(tries).toContainEqual(['2', 'valid']);
    expect(values).toEqual([{ tag: 'v' }]);
  });
});
