import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentBlock, LogMessage, Unreadable } from '../../../services/messages.ts';
import { buildCountRequest, buildRequest } from '../../../services/model/request.ts';
import type { ModelRequest } from '../../../services/model/types.ts';
import type { Tool } from '../../../services/tools/tool.ts';
import { prompt, requestFor } from './ask.ts';
import { violations } from './strict-rules.ts';

const MODEL = 'claude-sonnet-5-5';
let serial = 0;
const entry = (given: Partial<LogMessage> & Pick<LogMessage, 'content'>): LogMessage => ({
  ...prompt,
  uuid: `m${++serial}`,
  ...given,
});
const user = (text: string) => entry({ content: [{ type: 'text', text }] });
const said = (content: ContentBlock, apiId = 'a1', more: Partial<LogMessage> = {}) =>
  entry({
    role: 'assistant',
    kind: content.type === 'text' ? 'text' : content.type === 'tool_use' ? 'tool_use' : 'thinking',
    origin: 'model',
    apiId,
    model: MODEL,
    content: [content],
    ...more,
  });
const spoke = (text: string, apiId?: string) => said({ type: 'text', text }, apiId);
const call = (id: string, apiId = 'a1', unreadable?: Unreadable) =>
  said({ type: 'tool_use', id, name: 'Bash', input: { command: id } }, apiId, {
    toolUseId: id,
    ...(unreadable ? { unreadable } : {}),
  });
const thought = (text: string, apiId = 'a1', model = MODEL) =>
  said({ type: 'thinking', thinking: text, signature: `s-${text}` }, apiId, { model });
type ResultContent = Extract<ContentBlock, { type: 'tool_result' }>['content'];
const resultWith = (id: string, said: ResultContent) =>
  entry({
    kind: 'tool_result',
    origin: 'tool',
    toolUseId: id,
    content: [
      { type: 'tool_result', tool_use_id: id, ...(said === undefined ? {} : { content: said }) },
    ],
  });
const result = (id: string) => resultWith(id, 'ok');

const bodyOf = (messages: readonly LogMessage[], more: Partial<ModelRequest> = {}) =>
  buildRequest(requestFor({ messages, ...more })).body;
/** The messages, a line each, without breakpoints. */
const outline = (messages: readonly LogMessage[], more: Partial<ModelRequest> = {}) =>
  bodyOf(messages, more).messages.map(
    ({ role, content }) => `${role}: ${(content as ContentBlock[]).map(word).join(' ')}`,
  );
const word = (block: ContentBlock): string => {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return `(${block.thinking})`;
    case 'tool_use':
      return `call-${block.id}`;
    case 'tool_result':
      return `result-${block.tool_use_id}`;
    default:
      return block.type;
  }
};
/** `message.block` of each breakpoint, `s` for the system prompt. */
const marks = (messages: readonly LogMessage[], more: Partial<ModelRequest> = {}) => {
  const body = bodyOf(messages, more);
  const found: string[] = [];
  if (Array.isArray(body.system)) {
    for (const [at, block] of body.system.entries()) if (block.cache_control) found.push(`s${at}`);
  }
  for (const [at, { content }] of body.messages.entries()) {
    for (const [inner, block] of (content as ContentBlock[]).entries()) {
      if ('cache_control' in block && block.cache_control) {
        found.push(`${at}.${inner}${block.cache_control.ttl ? '/1h' : ''}`);
      }
    }
  }
  return found;
};

describe('the projection', () => {
  it('puts an answer together again although its results came in between (PAIR-06)', () => {
    const log = [
      user('go'),
      thought('hm'),
      spoke('I look'),
      call('t1'),
      call('t2'),
      result('t2'),
      call('t3'),
      result('t3'),
      result('t1'),
      user('a note'),
    ];
    expect(outline(log)).toEqual([
      'user: go',
      'assistant: (hm) I look call-t1 call-t2 call-t3',
      'user: result-t1 result-t2 result-t3 a note',
    ]);
  });

  it('puts results before a note that was logged earlier (S7)', () => {
    expect(outline([user('go'), call('t1'), user('note'), result('t1')]).at(-1)).toBe(
      'user: result-t1 note',
    );
  });

  it('keeps two answers apart, and joins a paused one with what follows it (LIM-05)', () => {
    const apart = [user('go'), call('t1', 'a1'), result('t1'), call('t2', 'a2'), result('t2')];
    expect(outline(apart)).toHaveLength(5);
    const search = said({ type: 'server_tool_use', id: 's1', name: 'web_search', input: {} }, 'a1');
    expect(outline([user('go'), spoke('searching', 'a1'), search])).toEqual([
      'user: go',
      'assistant: searching server_tool_use',
    ]);
    expect(
      outline([user('go'), spoke('searching', 'a1'), search, spoke('found', 'a2'), user('thanks')]),
    ).toEqual(['user: go', 'assistant: searching server_tool_use found', 'user: thanks']);
  });

  it('sends no empty text, nor a message that would be empty (CONT-01)', () => {
    const log = [user('go'), spoke(''), call('t1'), spoke(' \n'), result('t1'), user('  ')];
    expect(outline(log)).toEqual(['user: go', 'assistant: call-t1', 'user: result-t1']);
    expect(outline([user('a'), spoke('\n'), user('b')])).toEqual(['user: a b']);
  });

  it.each([
    ['nothing', undefined],
    ['an empty string', ''],
    ['white space', ' \n'],
    ['no parts', []],
    ['empty parts', [{ type: 'text' as const, text: '' }]],
  ])('says "(no output)" for a result with %s (CONT-02)', (_, content) => {
    const log = [user('go'), call('t1'), resultWith('t1', content)];
    expect(JSON.stringify(bodyOf(log).messages.at(-1))).toContain('"content":"(no output)"');
  });

  it('sends {} for the input of an unreadable call', () => {
    const cut = { raw: '{"a', cause: 'cut', detail: 'd' } as const;
    const body = bodyOf([user('go'), call('t1', 'a1', cut), result('t1')]);
    expect(body.messages[1]?.content).toMatchObject([{ type: 'tool_use', id: 't1', input: {} }]);
  });

  it('repairs lone surrogates everywhere but in thinking, which is left out (CONT-07)', () => {
    const log = [user('a\ud83d'), thought('x\ud83d'), call('t1'), resultWith('t1', 'b\ude00')];
    const body = bodyOf(log, { systemPrompt: ['c\ud83d'], userContext: 'd\ud83d' });
    expect(violations(body)).toEqual([]);
    expect(JSON.stringify(body)).not.toContain('(x');
  });

  it('does not look into base64', () => {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' };
    const image = entry({ content: [{ type: 'image', source }] });
    const [sent] = bodyOf([image]).messages.flatMap((m) => m.content as ContentBlock[]);
    expect(sent).toHaveProperty('source', source);
  });

  it('leaves the log as it was', () => {
    const log = [user('go'), thought('hm'), call('t1'), resultWith('t1', '')];
    const before = structuredClone(log);
    bodyOf(log, { systemPrompt: ['s'], userContext: 'c', previousCount: 1 });
    expect(log).toEqual(before);
  });
});

describe('thinking', () => {
  const log = [
    user('go'),
    thought('one'),
    call('t1'),
    thought('two'),
    call('t2'),
    result('t1'),
    result('t2'),
  ];

  it('goes back to its model as it came (CONT-04)', () => {
    const body = bodyOf(log);
    expect(body.messages[1]?.content).toMatchObject([
      { type: 'thinking', thinking: 'one', signature: 's-one' },
      { type: 'tool_use' },
      { type: 'thinking', thinking: 'two', signature: 's-two' },
      { type: 'tool_use' },
    ]);
  });

  it('goes to no other model, calls stay (CONT-05)', () => {
    expect(outline(log, { model: 'claude-haiku-4-5' })[1]).toBe('assistant: call-t1 call-t2');
  });

  it('is known under an alias and its snapshot', () => {
    const dated = [user('go'), thought('a', 'a1', 'claude-sonnet-4-5-20250929'), spoke('b')];
    expect(outline(dated, { model: 'claude-sonnet-4-5' })[1]).toBe('assistant: (a) b');
    expect(outline(dated, { model: 'claude-sonnet-4-5-20260101' })[1]).toBe('assistant: b');
  });

  it('is not sent when it is all that an answer had, nor at the end of one', () => {
    expect(outline([user('a'), thought('cut'), user('go on')])).toEqual(['user: a go on']);
    expect(outline([user('a'), spoke('b'), thought('cut'), user('go on')])[1]).toBe('assistant: b');
    // Beside a call the API wants all of it.
    expect(outline([user('a'), call('t1'), thought('x'), result('t1')])[1]).toBe(
      'assistant: call-t1 (x)',
    );
  });

  it('is off in the round after a switch of models, since that round cannot begin with it', () => {
    const asked = {
      model: 'claude-sonnet-4-5',
      thinking: { type: 'enabled', budgetTokens: 2_000 },
    } as const;
    expect(bodyOf(log, asked)).not.toHaveProperty('thinking');
    expect(bodyOf([...log, spoke('done', 'a2'), user('next')], asked)).toHaveProperty('thinking');
    // Adaptive thinking asks for no first block.
    expect(bodyOf(log, { model: 'claude-opus-5', thinking: { type: 'adaptive' } })).toHaveProperty(
      'thinking',
    );
  });
});

describe('userContext', () => {
  it('stands in front of the first user message, also when the log begins with the model', () => {
    expect(outline([user('go')], { userContext: 'CONTEXT' })).toEqual(['user: CONTEXT go']);
    expect(outline([spoke('hi'), user('go')], { userContext: 'CONTEXT' })[0]).toBe('user: CONTEXT');
    expect(outline([user('go')], { userContext: ' ' })).toEqual(['user: go']);
  });
});

describe('breakpoints', () => {
  const log = [
    user('go'),
    spoke('x'),
    call('t1'),
    result('t1'),
    call('t2', 'a2'),
    result('t2'),
    user('note'),
  ];

  it('are for what is read again: an errand of one request writes nothing to the cache', () => {
    const given = { systemPrompt: ['one'], previousCount: 4 };
    const of = (querySource: ModelRequest['querySource']) => marks(log, { ...given, querySource });
    expect([of('collapse'), of('tool_summary'), of('hook_agent')]).toEqual([[], [], []]);
    expect(of('subagent')).toEqual(of('main'));
    expect(of('compact')).toEqual(of('main'));
  });

  it('stand on the last system block, the end, and the end of the request before', () => {
    const systemPrompt = ['one', '', 'two'];
    expect(marks(log, { systemPrompt, previousCount: 4 })).toEqual(['s1', '2.0', '4.1']);
    expect(marks(log, { systemPrompt, previousCount: 1 })).toEqual(['s1', '0.0', '4.1']);
    expect(marks(log)).toEqual(['4.1']);
    expect(marks(log, { previousCount: 7 })).toEqual(['4.1']);
    expect(marks(log, { previousCount: 99 })).toEqual(['4.1']);
  });

  it('never stand on thinking: a paused answer is marked before it', () => {
    expect(marks([user('go'), spoke('x'), thought('t')])).toEqual(['1.0']);
    const marked = thought('t');
    const content = [
      { ...marked.content[0], cache_control: { type: 'ephemeral' } } as ContentBlock,
    ];
    expect(
      violations(bodyOf([user('go'), { ...marked, content }, call('t1'), result('t1')])),
    ).toEqual([]);
  });

  const own = (text: string, ttl?: '1h') =>
    entry({
      content: [
        { type: 'text', text, cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } },
      ],
    });

  it("are four at most, with the caller's own: the newest of those, and always the end", () => {
    const many = [own('a'), own('b'), own('c'), own('d'), own('e'), user('f')];
    expect(marks(many, { systemPrompt: ['s'] })).toEqual(['0.2', '0.3', '0.4', '0.5']);
    expect(marks([own('a'), user('b')], { systemPrompt: ['s'] })).toEqual(['s0', '0.0', '0.1']);
  });

  it('of an hour have none of five minutes before them', () => {
    const body = bodyOf([own('a', '1h'), user('b')], { systemPrompt: ['s'] });
    expect(body.system).toMatchObject([{ cache_control: { ttl: '1h' } }]);
    expect(marks([own('a', '1h'), user('b')])).toEqual(['0.0/1h', '0.1']);
  });

  it('count what stands inside of results', () => {
    const inner = {
      type: 'text' as const,
      text: 'x',
      cache_control: { type: 'ephemeral' as const },
    };
    const long = [user('go'), call('t1'), resultWith('t1', [inner, inner, inner, inner, inner])];
    const json = JSON.stringify(bodyOf(long, { systemPrompt: ['s'] }));
    expect(json.match(/cache_control/g)).toHaveLength(4);
  });
});

describe('the rest of a request', () => {
  const tool = (name: string): Tool => ({
    name,
    description: `does ${name}`,
    inputSchema: { type: 'object' },
    maxResultSizeChars: 1,
    parse: (input) => ({ ok: true, input: input as Record<string, unknown> }),
    isConcurrencySafe: () => true,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => 1,
    gist: () => '',
    call: async () => ({ content: '' }),
  });

  it('has what was asked, and no more', () => {
    const { body, headers } = buildRequest(requestFor({ messages: [user('go')] }));
    expect(Object.keys(body).toSorted()).toEqual([
      'max_tokens',
      'messages',
      'model',
      'stream',
      'thinking',
    ]);
    expect(body.thinking).toEqual({ type: 'between_tools' });
    expect(headers).toEqual({ 'x-escapement-purpose': 'loop' });
  });

  it('keeps the order of the tools', () => {
    const names = bodyOf([user('go')], { tools: ['Write', 'Bash', 'Edit'].map(tool) }).tools;
    expect(names).toMatchObject([{ name: 'Write' }, { name: 'Bash' }, { name: 'Edit' }]);
    expect(names?.[0]).toEqual({
      name: 'Write',
      description: 'does Write',
      input_schema: { type: 'object' },
    });
  });

  it.each([
    ['main', 'loop'],
    ['subagent', 'loop'],
    ['compact', 'compact'],
    ['collapse', 'collapse'],
    ['tool_summary', 'tool_summary'],
    ['hook_agent', 'hook_agent'],
  ] as const)('says what it is for: %s', (querySource, purpose) => {
    const { headers } = buildRequest(requestFor({ querySource }));
    expect(headers['x-escapement-purpose']).toBe(purpose);
  });

  it('tells the API a task budget', () => {
    const { body, headers } = buildRequest(
      requestFor({ taskBudget: { total: 50_000, remaining: 20_000 } }),
    );
    expect(body).toMatchObject({
      output_config: { task_budget: { type: 'tokens', total: 50_000, remaining: 20_000 } },
    });
    expect(headers['anthropic-beta']).toBe('task-budgets-2026-03-13');
  });

  it('is counted without what is not part of a prompt', () => {
    const counted = buildCountRequest(requestFor({ systemPrompt: ['s'], tools: [tool('Bash')] }));
    expect(Object.keys(counted).toSorted()).toEqual([
      'messages',
      'model',
      'system',
      'thinking',
      'tools',
    ]);
  });
});

// ── any history of rounds ──

const odd = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 8 }) },
  fc.constantFrom('', ' ', '\n\t', 'a\ud83d', '\ude00b', '😀'),
);
const content = fc.oneof(
  odd,
  fc.constant(undefined),
  fc.array(fc.record({ type: fc.constant('text' as const), text: odd }), { maxLength: 3 }),
);
type Draw = { kind: 'thought' | 'text' | 'call'; text: string; foreign: boolean; bad: boolean };
const answer = fc.record({
  blocks: fc.array(
    fc.record({
      kind: fc.constantFrom<Draw['kind']>('thought', 'text', 'call', 'call'),
      text: odd,
      foreign: fc.boolean(),
      bad: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  results: fc.array(content, { minLength: 6, maxLength: 6 }),
  /** How eagerly results come: after which of the following blocks. */
  delays: fc.array(fc.nat({ max: 3 }), { minLength: 6, maxLength: 6 }),
  notes: fc.array(fc.record({ text: odd, at: fc.nat({ max: 8 }), cached: fc.boolean() }), {
    maxLength: 3,
  }),
  prompt: fc.option(
    fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
    { nil: undefined },
  ),
});

/** A log as the engine writes it: blocks as they end, results when they are there, notes anywhere. */
function logOf(
  rounds: readonly (typeof answer extends fc.Arbitrary<infer T> ? T : never)[],
  name = 'a',
): LogMessage[] {
  const log: LogMessage[] = [user('the first prompt')];
  for (const [round, { blocks, results, delays, notes, prompt: next }] of rounds.entries()) {
    const apiId = `${name}${round}`;
    const due = new Map<number, LogMessage[]>();
    const later = (at: number, message: LogMessage) =>
      due.set(at, [...(due.get(at) ?? []), message]);
    for (const { text, at, cached } of notes) {
      const mark = cached ? { cache_control: { type: 'ephemeral' as const } } : {};
      later(at, entry({ content: [{ type: 'text', text, ...mark }] }));
    }
    for (const [at, { kind, text, foreign, bad }] of blocks.entries()) {
      const id = `${apiId}-${at}`;
      if (kind === 'thought') log.push(thought(text, apiId, foreign ? 'claude-haiku-4-5' : MODEL));
      else if (kind === 'text') log.push(spoke(text, apiId));
      else {
        log.push(call(id, apiId, bad ? { raw: '', cause: 'unparsable', detail: '' } : undefined));
        later(at + (delays[at] ?? 0), resultWith(id, results[at]));
      }
      log.push(...(due.get(at) ?? []));
      due.delete(at);
    }
    for (const rest of [...due.keys()].toSorted((a, b) => a - b))
      log.push(...(due.get(rest) ?? []));
    // What the chart sees to: history ends with the user when it is asked again.
    const needsWord = !blocks.some(({ kind }) => kind === 'call');
    if (next !== undefined || needsWord) log.push(user(next ?? 'go on'));
  }
  return log;
}

describe('any history of rounds', () => {
  const rounds = fc.array(answer, { maxLength: 5 });

  it('gives a legal request (S1–S7, S9, S10)', () => {
    fc.assert(
      fc.property(rounds, odd, fc.nat({ max: 40 }), (drawn, userContext, previousCount) => {
        const log = logOf(drawn);
        const body = bodyOf(log, { systemPrompt: ['s', userContext], userContext, previousCount });
        expect(violations(body)).toEqual([]);
        expect(JSON.stringify(body.messages.at(-1))).toContain('cache_control');
      }),
      { numRuns: 300 },
    );
  });

  it('keeps each answer in its own order, and loses no word', () => {
    fc.assert(
      fc.property(rounds, (drawn) => {
        const log = logOf(drawn);
        const sent = bodyOf(log).messages.flatMap((m) => m.content as ContentBlock[]);
        const calls = log.flatMap((m) => (m.kind === 'tool_use' ? [m.toolUseId] : []));
        const ids = (type: 'id' | 'tool_use_id') =>
          sent.flatMap((block) =>
            type in block ? [(block as unknown as Record<string, string>)[type]] : [],
          );
        expect(ids('id')).toEqual(calls);
        expect(ids('tool_use_id')).toEqual(calls);
      }),
      { numRuns: 200 },
    );
  });

  it('only grows at its end when history does (the cache lives on it)', () => {
    const plain = (messages: readonly LogMessage[]) =>
      bodyOf(messages, { userContext: 'c' }).messages.flatMap(({ role, content: blocks }) =>
        (blocks as ContentBlock[]).map(
          (block) => `${role} ${JSON.stringify({ ...block, cache_control: undefined })}`,
        ),
      );
    fc.assert(
      fc.property(rounds, rounds, (first, more) => {
        const before = logOf(first);
        const after = [...before, ...logOf(more, 'b').slice(1)];
        const [a, b] = [plain(before), plain(after)];
        expect(b.slice(0, a.length)).toEqual(a);
      }),
      { numRuns: 200 },
    );
  });
});
