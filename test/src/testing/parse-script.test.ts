import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseScript, parseScriptText, scriptJsonSchema } from '../../../src/testing/index.ts';

const message = (more: Record<string, unknown> = {}) => ({ kind: 'message', content: [], ...more });
const text = { type: 'text', text: 'x' };

async function problemsOf(value: unknown): Promise<string[]> {
  const parsed = await parseScript(value);
  return parsed.ok
    ? []
    : parsed.problems.map(({ path, message, remedy }) => `${path} | ${message} | ${remedy}`);
}

describe('a mistake is told with its place and its remedy', () => {
  test.each([
    ['no object', 5, '$ | Invalid input: expected object, received number | make it an object'],
    [
      'a field with a typo',
      { replis: [] },
      '$ | Unrecognized key: "replis" | did you mean "replies"?',
    ],
    [
      'a field from nowhere',
      { frobnicate: 1 },
      '$ | Unrecognized key: "frobnicate" | leave it out; --schema shows the fields that there are',
    ],
    [
      'a kind that there is not',
      { replies: ['a', { kind: 'mesage' }] },
      '$.replies[1].kind | "mesage" is none of the kinds there are | ' +
        'write one of "message", "error", "cut", "silent", "raw"',
    ],
    [
      'no kind',
      { replies: [{ content: [] }] },
      '$.replies[0].kind | is missing | write one of "message", "error", "cut", "silent", "raw"',
    ],
    [
      'a missing field deep inside',
      { replies: [message({ content: [text, { type: 'tool_use' }] })] },
      '$.replies[0].content[1].name | is missing | add a string',
    ],
    [
      'a place that there is not',
      { replies: [message({ fault: { kind: 'cut', after: 'lunch' } })] },
      '"headers", "message_start", "blocks", "message_delta"',
    ],
    [
      'a place that this reply has not',
      { compactions: [message({ content: [text], fault: { kind: 'cut', after: { block: 1 } } })] },
      '$.compactions[0].fault | the stream of this reply has no place after {"block":1}',
    ],
    [
      'an insert at such a place',
      { replies: [message({ inserts: [{ after: { bytes: 9_999_999 }, raw: 'x' }] })] },
      '$.replies[0].inserts | the stream of this reply has no place after {"bytes":9999999}',
    ],
    [
      'a number out of range',
      { replies: [{ kind: 'error', status: 200, error: { type: 'a', message: 'b' } }] },
      '$.replies[0].status | Too small: expected number to be >=400 | write at least 400',
    ],
    [
      'a purpose that there is not',
      { replies: [message({ when: { purpose: 'dinner' } })] },
      'write one of "loop", "compact", "collapse", "tool_summary", "hook_agent"',
    ],
  ])('%s', async (_what, value, expected) => {
    const problems = await problemsOf(value);
    expect(problems.join('\n')).toContain(expected);
  });

  test('all mistakes are told, not only the first', async () => {
    expect(await problemsOf({ replies: [{ kind: 'cot' }, 5], window: 0 })).toHaveLength(3);
  });

  test('what is no JSON at all', async () => {
    const parsed = await parseScriptText('{"replies": [\n "a",\n]}');
    expect(parsed).toMatchObject({
      ok: false,
      problems: [{ path: '$', remedy: expect.stringContaining('no trailing commas') }],
    });
  });
});

describe('script.schema.json', () => {
  test('is what the parser accepts; renew it with `escapement mock-server --schema`', async () => {
    const file = new URL('../../../src/testing/script.schema.json', import.meta.url);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(await scriptJsonSchema());
  });

  test('agrees with the parser on scripts that are a little wrong', async () => {
    const validate = new Ajv2020({ strict: false }).compile(await scriptJsonSchema());
    const good = {
      replies: [
        'hello',
        message({ content: [text], fault: { kind: 'cut', after: { block: 0 } }, pings: 1 }),
        { kind: 'error', status: 529, error: { type: 'a', message: 'b' }, times: 'always' },
      ],
      countTokens: 3,
    };
    expect(validate(good)).toBe(true);
    const odd = fc.constantFrom<unknown>(null, -1, 1.5, 'x', [], {}, true, 'always', 529);
    const paths = [
      ['replies'],
      ['countTokens'],
      ['replies', 0],
      ['replies', 1, 'kind'],
      ['replies', 1, 'pings'],
      ['replies', 1, 'content', 0, 'text'],
      ['replies', 1, 'content', 0, 'pieces'],
      ['replies', 1, 'fault', 'after'],
      ['replies', 1, 'fault', 'kind'],
      ['replies', 2, 'times'],
      ['replies', 2, 'status'],
      ['replies', 2, 'error', 'type'],
      ['extra'],
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), odd, async (path, value) => {
        const script = structuredClone(good) as unknown as Record<PropertyKey, unknown>;
        let at = script;
        for (const key of path.slice(0, -1)) at = at[key] as typeof script;
        at[path.at(-1) ?? ''] = value;
        const problems = await problemsOf(script);
        // Impossible places are beyond a schema.
        const ofSchema = problems.filter((problem) => !problem.includes('has no place'));
        expect(ofSchema.length === 0, JSON.stringify(script)).toBe(validate(script));
      }),
      { numRuns: 80 },
    );
  });
});
