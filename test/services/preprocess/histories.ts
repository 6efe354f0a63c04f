/** Makes histories for the tests of what works on them, whole ones and broken ones. */
import fc from 'fast-check';
import type { ContentBlock, LogMessage, Origin } from '../../../services/messages.ts';

let serial = 0;
export const uuid = () => `u${serial++}`;

type Patch = Partial<Omit<LogMessage, 'content' | 'role'>>;
const base = (patch: Patch) => ({ uuid: uuid(), timestamp: '2026-01-01T00:00:00.000Z', ...patch });
const text = (words: string) => ({ type: 'text', text: words }) as const;

export const user = (content: string | readonly ContentBlock[], patch: Patch = {}): LogMessage => ({
  kind: 'text',
  origin: 'prompt',
  ...base(patch),
  role: 'user',
  content: typeof content === 'string' ? [text(content)] : content,
});
export const assistant = (
  apiId: string,
  content: string | ContentBlock,
  patch: Patch = {},
): LogMessage => {
  const block = typeof content === 'string' ? text(content) : content;
  return {
    kind: block.type === 'thinking' || block.type === 'tool_use' ? block.type : 'text',
    origin: 'model' satisfies Origin,
    apiId,
    model: 'm',
    ...(block.type === 'tool_use' ? { toolUseId: block.id } : {}),
    ...base(patch),
    role: 'assistant',
    content: [block],
  };
};
export const call = (apiId: string, id: string, name = 'Read', input: unknown = {}) =>
  assistant(apiId, { type: 'tool_use', id, name, input });
export const result = (id: string, content: string | readonly ContentBlock[] = 'done') =>
  user([{ type: 'tool_result', tool_use_id: id, content } as ContentBlock], {
    kind: 'tool_result',
    origin: 'tool',
    toolUseId: id,
  });
export const thought = (apiId: string, words: string) =>
  assistant(apiId, { type: 'thinking', thinking: words, signature: `sig ${words}` });

/** A one-pixel PNG. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const image = (data = PIXEL): ContentBlock => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data },
});

/** Everything that went wrong in reports, mixed at random. */
export const brokenHistory = (): fc.Arbitrary<readonly LogMessage[]> => {
  const words = fc.constantFrom('hello', 'go on', '', '  \n', 'half \ud83d', 'whole \u{1f389}');
  const id = fc.constantFrom('t1', 't2', 't3', 'bad id!', '');
  const apiId = fc.constantFrom('m1', 'm2', 'm3');
  const input = fc.constantFrom<unknown>({}, { path: 'a' }, null, 'text', [1], {
    '\udc00': '\ud800',
  });
  const inside = fc.oneof(
    words.map((w): ContentBlock => text(w)),
    fc.constant(image()),
  );
  const userBlock = fc.oneof(
    { weight: 3, arbitrary: words.map((w): ContentBlock => text(w)) },
    {
      weight: 5,
      arbitrary: fc
        .record({ id, content: fc.oneof(words, fc.array(inside, { maxLength: 2 })) })
        .map(
          (r) => ({ type: 'tool_result', tool_use_id: r.id, content: r.content }) as ContentBlock,
        ),
    },
    { weight: 1, arbitrary: fc.constant(image()) },
    {
      weight: 1,
      arbitrary: id.map((i): ContentBlock => ({ type: 'tool_use', id: i, name: 'X', input: {} })),
    },
  );
  const assistantBlock = fc.oneof(
    { weight: 3, arbitrary: words.map((w): ContentBlock => text(w)) },
    {
      weight: 5,
      arbitrary: fc
        .record({ id, input, name: fc.constantFrom('Read', 'a b', '') })
        .map((r): ContentBlock => ({ type: 'tool_use', ...r })),
    },
    {
      weight: 1,
      arbitrary: words.map(
        (w): ContentBlock => ({ type: 'thinking', thinking: w, signature: 's' }),
      ),
    },
    {
      weight: 1,
      // blocks are made anew each time: no two messages share one
      arbitrary: fc
        .boolean()
        .map((asks) =>
          asks
            ? ({ type: 'server_tool_use', id: 's1', name: 'web_search', input: {} } as ContentBlock)
            : ({ type: 'web_search_tool_result', tool_use_id: 's1', content: [] } as ContentBlock),
        ),
    },
  );
  const message = fc.oneof(
    fc.array(userBlock, { maxLength: 3 }).map((content) => user(content)),
    fc.tuple(apiId, assistantBlock, fc.boolean()).map(([a, block, named]): LogMessage => {
      const { apiId: _, ...rest } = assistant(a, block);
      return named ? { ...rest, apiId: a } : rest;
    }),
  );
  return fc.array(message, { minLength: 1, maxLength: 14 });
};

/** A history that nothing is wrong with: rounds with results that come while the model speaks. */
export const legalHistory = (): fc.Arbitrary<readonly LogMessage[]> =>
  fc
    .array(
      fc.record({
        thinks: fc.boolean(),
        speaks: fc.boolean(),
        calls: fc.nat({ max: 3 }),
        early: fc.boolean(),
        note: fc.boolean(),
      }),
      { maxLength: 6 },
    )
    .map((rounds) => [
      user('the task'),
      ...rounds.flatMap((round, r) => {
        const m = `m${r}`;
        const said = [
          ...(round.thinks ? [thought(m, `thought ${r}`)] : []),
          ...(round.speaks || round.calls === 0 ? [assistant(m, `word ${r}`)] : []),
        ];
        const pairs = Array.from({ length: round.calls }, (_, c) => [
          call(m, `c${r}_${c}`),
          result(`c${r}_${c}`),
        ]);
        const tools = round.early
          ? pairs.flat()
          : [...pairs.map(([c]) => c), ...pairs.map(([, a]) => a).reverse()];
        const end = round.note || round.calls === 0 ? [user(`next ${r}`)] : [];
        return [...said, ...tools, ...end].filter((m) => m !== undefined);
      }),
    ]);
