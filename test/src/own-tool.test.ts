/** Tools of the host: few words, careful defaults, and looked at when they are given. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type OwnTool } from '../../src/own-tool.ts';
import type { ParameterSchema } from '../../src/parameter-schema.ts';
import { createSdkMcpServer, tool } from '../../src/sdk-server.ts';
import { callTool, callTools, say, toolNames } from '../../src/testing/index.ts';
import { UsageError } from '../../src/usage-error.ts';
import { hostTool } from '../tools/host-tool.ts';
import { heard, type Story, tell } from '../tools/story.ts';

const weather = (more: Partial<OwnTool<z.ZodObject<{ city: z.ZodString }>>> = {}) =>
  defineTool({
    name: 'Weather',
    description: 'The weather in a city, now.',
    input: z.object({ city: z.string().describe('its name') }),
    run: async ({ city }) => `It rains in ${city}.`,
    ...more,
  });
const asked = (input: object, more: Story['options'] = {}): Story => ({
  script: { replies: [callTool('Weather', { ...input }), say('done')] },
  options: { customTools: [weather()], ...(more as object) },
});
const results = (lines: readonly string[]) => lines.filter((line) => line.startsWith('result'));

describe('defineTool', () => {
  it('is offered beside the built-in tools, with the schema that zod says, and runs', async () => {
    const told = await tell(asked({ city: 'Oslo' }));
    const [first] = told.requests;
    expect(first && toolNames(first)).toContain('Bash');
    expect((first?.body.tools as unknown[] | undefined)?.at(-1)).toMatchObject({
      name: 'Weather',
      input_schema: {
        type: 'object',
        properties: { city: { type: 'string', description: 'its name' } },
        required: ['city'],
      },
    });
    expect(told.lines).toContain('result "It rains in Oslo."');
  });

  it('asks, unless a rule or the host says yes', async () => {
    const plain = { permissionMode: 'default' as const };
    const denied = await tell(asked({ city: 'Oslo' }, plain));
    expect(denied.last.permission_denials).toMatchObject([{ tool_name: 'Weather' }]);
    const ruled = await tell(asked({ city: 'Oslo' }, { ...plain, allowedTools: ['Weather'] }));
    expect(results(ruled.lines)).toEqual(['result "It rains in Oslo."']);
    const free = weather({ touches: () => ({ kind: 'nothing' }) });
    const open = await tell(asked({ city: 'Oslo' }, { ...plain, customTools: [free] }));
    expect(results(open.lines)).toEqual(['result "It rains in Oslo."']);
  });

  it('is taken away by disallowedTools, and kept by tools: []', async () => {
    const without = await tell(asked({ city: 'x' }, { disallowedTools: ['Weather'] }));
    expect(without.requests[0] && toolNames(without.requests[0])).not.toContain('Weather');
    const alone = await tell(asked({ city: 'x' }, { tools: [] }));
    expect(alone.requests[0] && toolNames(alone.requests[0])).toEqual(['Weather']);
  });

  it('a wrong input is told to the model and not run', async () => {
    const told = await tell(asked({ town: 'Oslo' }));
    expect(told.requests.map(heard)[1]?.at(-1)).toMatch(
      /^user: error .*`city`: expected string, received undefined\. Parameters: city\./s,
    );
  });

  it('a throw is an error that the model reads; blocks and isError are the tool’s own words', async () => {
    const bad = weather({
      run: async ({ city }) => {
        if (city === 'Atlantis') throw new Error('no such city');
        return { content: [{ type: 'text', text: 'closed' }], isError: true };
      },
    });
    for (const [city, words] of [
      ['Atlantis', 'no such city'],
      ['Oslo', 'closed'],
    ]) {
      const told = await tell(asked({ city }, { customTools: [bad] }));
      expect(told.requests.map(heard)[1]?.at(-1)).toMatch(new RegExp(`^user: error .*${words}`));
    }
  });

  it('a schema whose code throws is an error that the model reads', async () => {
    const trimmed = z.preprocess((given) => (given as string).trim(), z.string());
    const input = z.object({ city: trimmed }) as never;
    const told = await tell(asked({ city: 5 }, { customTools: [weather({ input })] }));
    expect(told.requests.map(heard)[1]?.at(-1)).toMatch(/^user: error .*trim is not a function/s);
    expect(told.lines.at(-1)).toContain('completed');
  });

  it('what the schema makes of the input is for run alone: the host sees JSON', async () => {
    const seen: unknown[] = [];
    const when = defineTool({
      name: 'When',
      description: 'w',
      input: z.object({ day: z.string().transform((day) => new Date(day)), n: z.int().default(3) }),
      run: ({ day, n }) => {
        seen.push(day.getTime(), n);
        return 'ok';
      },
    });
    const told = await tell({
      script: { replies: [callTool('When', { day: '1970-01-02' }), say('done')] },
      options: {
        permissionMode: 'default',
        customTools: [when],
        canUseTool: async (_name, input) => {
          seen.push(input);
          return { behavior: 'allow' };
        },
      },
    });
    expect(seen).toEqual([{ day: '1970-01-02' }, 86_400_000, 3]);
    expect(results(told.lines)).toEqual(['result "ok"']);
  });

  it('one after the other unless it says that they may run side by side', async () => {
    const most = async (more: { readonly isConcurrencySafe?: boolean }) => {
      let [running, seen] = [0, 0];
      const met: (() => void)[] = [];
      const run = async () => {
        running += 1;
        seen = Math.max(seen, running);
        // Waits for the other where there can be one; alone it would wait for ever.
        if (more.isConcurrencySafe && running < 2) await new Promise<void>((go) => met.push(go));
        for (const go of met.splice(0)) go();
        await new Promise((resolve) => setTimeout(resolve, 20)); // time for another to begin
        running -= 1;
        return 'ok';
      };
      await tell({
        ...asked({}, { customTools: [weather({ run, ...more })] }),
        script: {
          replies: [
            callTools([
              ['Weather', { city: 'a' }],
              ['Weather', { city: 'b' }],
            ]),
            say('done'),
          ],
        },
      });
      return seen;
    };
    expect(await most({})).toBe(1);
    expect(await most({ isConcurrencySafe: true })).toBe(2);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no name', { name: undefined }, /^tool "" needs a name/],
    ['a name that the API refuses', { name: 'a b!' }, /^tool "a b!" needs a name of 1 to 64/],
    ['no description', { description: undefined }, /^tool "T" needs a description/],
    ['no run', { run: 5 }, /^tool "T" needs run\(\)/],
    ['no schema', { input: undefined }, /^tool "T": input: expected a schema/],
    ['a bare shape', { input: { city: z.string() } }, /z\.object\(\{ … \}\) of zod 4\.2/],
    ['a text for input', { input: z.string() }, /^tool "T" needs an inputSchema of type "object"/],
    ['one of two objects', { input: z.union([z.object({}), z.object({})]) }, /^tool "T" needs/],
    ['a date', { input: z.object({ day: z.date() }) }, /^tool "T": input has no JSON Schema/],
    ['a deadline that is none', { deadlineMs: Number.NaN }, /^tool "T" has a deadlineMs\(\)/],
    ['no room for a result', { maxResultSizeChars: 0 }, /maxResultSizeChars above 0, not 0/],
  ])('%s: a UsageError at once, with its name', (_, wrong, words) => {
    const good = { name: 'T', description: 'd', input: z.object({}), run: () => '' };
    const define = () => defineTool({ ...good, ...wrong } as OwnTool<ParameterSchema>);
    expect(define).toThrow(UsageError);
    expect(define).toThrow(words);
  });
});

describe('tools that the host has made itself', () => {
  const cyclic: { type: 'object'; self?: unknown } = { type: 'object' };
  cyclic.self = cyclic;
  it.each<[string, Parameters<typeof hostTool>[2], RegExp]>([
    ['name', { name: 'a b!' }, /^tool "a b!" needs a name/],
    ['name of another', { name: 'Bash' }, /^tool "Bash" has the name of another tool/],
    [
      'schema of a text',
      { inputSchema: { type: 'string' as 'object' } },
      /of type "object", not "st/,
    ],
    ['schema in a circle', { inputSchema: cyclic }, /^tool "T" has an inputSchema that is no JSON/],
    ['schema that is combined', { inputSchema: { type: 'object', anyOf: [] } }, /anyOf at the top/],
    ['deadline', { deadlineMs: () => Number.NaN }, /a deadlineMs\(\) that gives NaN/],
    ['no parse', { parse: undefined as never }, /^tool "T" needs parse\(\), or make it with defi/],
  ])('%s: the engine is never made', async (_, more, words) => {
    const bad = hostTool('T', () => 'x', more);
    const story = { script: { replies: [] }, options: { customTools: [bad] } };
    await expect(tell(story)).rejects.toThrow(words);
    await expect(tell(story)).rejects.toBeInstanceOf(UsageError);
    const connection = {
      name: 'x',
      status: 'connected' as const,
      tools: [bad],
      close: async () => {},
    };
    await expect(
      tell({ script: { replies: [] }, options: { mcpClients: [connection] } }),
    ).rejects.toThrow(/^server x: tool /);
  });

  it('a deadline that is no number for one input is that of an ordinary tool', async () => {
    const odd = hostTool('T', () => new Promise((resolve) => setTimeout(() => resolve('ok'), 30)), {
      deadlineMs: ({ n }) => Number(n ?? 1),
    });
    const told = await tell({
      script: { replies: [callTool('T', { n: 'many' }), say('done')] },
      options: { customTools: [odd] },
    });
    expect(results(told.lines)).toEqual(['result "ok"']);
  });
});

describe('tool and createSdkMcpServer, as the official SDK has them', () => {
  const add = tool(
    'add',
    'adds two numbers',
    { a: z.number().describe('one'), b: z.number().default(40), note: z.string().optional() },
    async ({ a, b, note }) => {
      if (note === 'throw') throw new Error('not today');
      return { content: [{ type: 'text', text: `${a + b}` }] };
    },
    { annotations: { readOnlyHint: true } },
  );
  const told = (input: object) =>
    tell({
      script: { replies: [callTool('mcp__math__add', { ...input }), say('done')] },
      options: { mcpServers: { math: createSdkMcpServer({ name: 'math', tools: [add] }) } },
    });

  it('are offered with their schema, and called with what it makes of the input', async () => {
    const { requests, lines } = await told({ a: 2 });
    expect((requests[0]?.body.tools as unknown[] | undefined)?.at(-1)).toMatchObject({
      name: 'mcp__math__add',
      input_schema: {
        properties: { a: { type: 'number', description: 'one' }, b: { default: 40 } },
        required: ['a'],
      },
    });
    expect(results(lines)).toEqual(['result "42"']);
  });

  it('a wrong input and a throw are errors that the model reads', async () => {
    const answers = async (input: object) => (await told(input)).requests.map(heard)[1]?.at(-1);
    expect(await answers({ a: 'two' })).toMatch(/^user: error .*`a`: expected number/);
    expect(await answers({ a: 1, note: 'throw' })).toMatch(/^user: error .*not today/);
  });

  it('a shape that has no JSON Schema is a UsageError with its name', () => {
    const handler = async () => ({ content: [] });
    expect(() => tool('t', 'd', { day: z.date() }, handler)).toThrow(
      /^tool "t\.day": input has no/,
    );
    expect(() => tool('t', 'd', { x: 5 as never }, handler)).toThrow(UsageError);
    for (const none of [undefined, null, 5, z.object({ a: z.string() })]) {
      expect(() => tool('t', 'd', none as never, handler)).toThrow(
        /^tool "t": expected a shape: give each/,
      );
    }
  });

  it('named and recursive schemas keep their references, wherever they stand', () => {
    const point = z.object({ x: z.number() }).meta({ id: 'Point' });
    const tree = z.object({
      get kids() {
        return z.array(tree).optional();
      },
    });
    const shape = { from: point, 'to/~': z.array(point), tree, trees: z.array(tree) };
    const { inputSchema } = tool('t', 'd', shape, async () => ({ content: [] }));
    const isRight = new Ajv2020({ strict: false }).compile(inputSchema);
    const good = {
      from: { x: 1 },
      'to/~': [{ x: 2 }],
      tree: { kids: [{}] },
      trees: [{ kids: [] }],
    };
    expect(isRight(good), JSON.stringify(isRight.errors)).toBe(true);
    for (const wrong of [
      { from: { x: 'a' } },
      { 'to/~': [{}] },
      { tree: { kids: [{ kids: [5] }] } },
      { trees: [{ kids: [5] }] },
    ]) {
      expect(isRight({ ...good, ...wrong })).toBe(false);
    }
  });

  it('what the model leaves out is not there for the handler', async () => {
    const seen: unknown[] = [];
    const shape = { n: z.number().optional(), s: z.string().default('q') };
    const ask = tool('t', 'd', shape, async (input) => {
      seen.push(Object.entries(input));
      return { content: [] };
    });
    await ask.call({}, new AbortController().signal);
    expect(seen).toEqual([[['s', 'q']]]);
  });

  it('a schema whose code throws for nothing, or takes its time, names a needed parameter', async () => {
    const trimmed = z.preprocess((given) => (given as string).trim(), z.string());
    const shape = {
      path: trimmed,
      late: z.string().refine(async () => true),
      mode: z
        .string()
        .default('r')
        .refine(async () => true),
      note: z.string().optional(),
    };
    const lost: unknown[] = [];
    const onLost = (error: unknown) => lost.push(error);
    process.on('unhandledRejection', onLost);
    try {
      const { inputSchema } = tool('t', 'd', shape, async () => ({ content: [] }));
      expect(inputSchema.required).toEqual(['path', 'late']);
      await new Promise((resolve) => setImmediate(resolve)); // where a lost rejection is told
      await new Promise((resolve) => setImmediate(resolve));
      expect(lost).toEqual([]);
    } finally {
      process.off('unhandledRejection', onLost);
    }
  });
});
