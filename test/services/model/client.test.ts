import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCallModel } from '../../../services/model/call-model.ts';
import { type ClientOptions, createClient } from '../../../services/model/client.ts';
import { createCountTokens } from '../../../services/model/count-tokens.ts';
import { stripSignatures } from '../../../services/model/strip-signatures.ts';
import { ask, prompt, requestFor } from './ask.ts';
import { fixture, refuse, serve } from './sse-server.ts';

const headersOf = async (options: Omit<ClientOptions, 'baseURL'>) => {
  const { url, received } = await serve(fixture('text'));
  const model = createCallModel({ client: createClient({ ...options, baseURL: url }) });
  let last: string | undefined;
  for await (const event of model(requestFor({ querySource: 'compact' }))) last = event.type;
  return { headers: received[0]?.headers ?? {}, received, last };
};

describe('our own client', () => {
  it('sends the key, the purpose and the headers of the host', async () => {
    const { headers } = await headersOf({ apiKey: 'K', defaultHeaders: { 'x-team': 'blue' } });
    expect(headers).toMatchObject({
      authorization: 'Bearer K',
      'x-escapement-purpose': 'compact',
      'x-team': 'blue',
    });
    expect(headers['anthropic-beta']).toBeUndefined();
  });

  it('prefers a token to a key', async () => {
    const { headers } = await headersOf({ apiKey: 'K', authToken: 'T' });
    expect(headers.authorization).toBe('Bearer T');
    expect(headers['x-api-key']).toBeUndefined();
  });

  it('reads no credential of the environment, and sends none when it has none', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'from-the-environment');
    vi.stubEnv('ANTHROPIC_AUTH_TOKEN', 'from-the-environment');
    vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:9');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { headers, last } = await headersOf({});
    expect(last).toBe('ended');
    expect(JSON.stringify(headers)).not.toContain('from-the-environment');
    expect(headers.authorization).toBeUndefined();
  });

  it('lets a host authorize by headers', async () => {
    const { headers } = await headersOf({ defaultHeaders: { Authorization: 'Basic abc' } });
    expect(headers.authorization).toBe('Basic abc');
  });

  it("goes through the host's fetch", async () => {
    const seen: string[] = [];
    await headersOf({
      apiKey: 'K',
      fetch: (input, init) => {
        seen.push(String(input));
        return fetch(input, init);
      },
    });
    expect(seen).toEqual([expect.stringMatching(/\/v1\/messages$/)]);
  });

  it('keeps secrets out of failures, and says nothing on the console', async () => {
    const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
      vi.spyOn(console, name),
    );
    vi.stubEnv('ANTHROPIC_LOG', 'debug');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { url } = await serve(
      refuse(401, 'authentication_error', 'bad key sk-ant-test-key-000000'),
    );
    const client = createClient({ apiKey: 'sk-ant-test-key-000000', baseURL: url });
    const said: string[] = [];
    for await (const event of createCallModel({ client })(requestFor()))
      said.push(JSON.stringify(event));
    expect(said.join()).toContain('authentication_error');
    expect(said.join()).not.toContain('sk-ant');
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  it('does not warn on the console of a model that is about to retire', async () => {
    const warn = vi.spyOn(console, 'warn');
    onTestFinished(() => warn.mockRestore());
    const thinking = { type: 'enabled', budgetTokens: 1_024 } as const;
    for (const model of ['claude-3-opus-20240229', 'claude-sonnet-4-5', 'claude-opus-4-6']) {
      const { url } = await serve(fixture('text'));
      const service = createCallModel({ client: createClient({ apiKey: 'K', baseURL: url }) });
      for await (const event of service(requestFor({ model, thinking }))) void event;
    }
    expect(warn).not.toHaveBeenCalled();
  });

  it('is not loaded before it is used', () => {
    // What a module imports at its top is what costs the start; types cost nothing.
    for (const file of readdirSync('services/model')) {
      const source = readFileSync(`services/model/${file}`, 'utf8');
      for (const line of source.match(/^import .*@anthropic-ai\/sdk.*$/gm) ?? []) {
        expect(`${file}: ${line}`).toMatch(/: import type /);
      }
    }
  });
});

describe('the count of a prompt', () => {
  const json = (body: object, status = 200) => ({
    status,
    headers: { 'content-type': 'application/json' },
    steps: [JSON.stringify(body)],
  });

  it('is the API’s', async () => {
    const { url, received } = await serve(json({ input_tokens: 1_234 }));
    const count = createCountTokens(createClient({ apiKey: 'K', baseURL: url }));
    expect(await count(requestFor({ systemPrompt: ['s'] }))).toBe(1_234);
    expect(received[0]?.body).not.toHaveProperty('max_tokens');
  });

  it('is nothing when nobody can say', async () => {
    const { url } = await serve(refuse(500, 'api_error', 'x'));
    const failing = createCountTokens(createClient({ apiKey: 'K', baseURL: url }));
    expect(await failing(requestFor())).toBeUndefined();
    const { url: slow } = await serve({ headDelayMs: 10_000, steps: [] });
    const late = createCountTokens(createClient({ apiKey: 'K', baseURL: slow }), 50);
    expect(await late(requestFor())).toBeUndefined();
    const unable = createCountTokens({
      messages: { create: () => Promise.reject(new Error('no')) },
    });
    expect(await unable(requestFor())).toBeUndefined();
    const aborted = { signal: AbortSignal.abort() };
    expect(await failing(requestFor(aborted))).toBeUndefined();
  });
});

describe('stripping of signatures', () => {
  const thinking = {
    ...prompt,
    uuid: 't',
    role: 'assistant',
    kind: 'thinking',
    model: 'claude-opus-5-5',
    content: [{ type: 'thinking', thinking: 'x', signature: 's' }],
  } as const;

  it('takes whole blocks away from another model, and nothing from its own', () => {
    const log = [
      prompt,
      thinking,
      { ...thinking, uuid: 'a', content: [{ type: 'text', text: 'a' }] } as const,
    ];
    expect(stripSignatures(log, 'claude-opus-5-5')).toBe(log);
    expect(stripSignatures(log, 'claude-haiku-4-5').map(({ uuid }) => uuid)).toEqual([
      'prompt',
      'a',
    ]);
  });
});

describe('an event of a stream', () => {
  const mebibyte = 'x'.repeat(1 << 20);

  it.each([
    ['one line', mebibyte],
    ['many lines', `data: ${mebibyte}\n`],
  ])('that never ends, %s, is given up', async (_, piece) => {
    const steps = [
      'event: message_start\ndata: ',
      ...Array<string>(40).fill(piece),
      'stall',
    ] as const;
    const { url } = await serve({ steps });
    const answer = await ask(url);
    expect(answer.failure).toMatchObject({
      class: 'protocol',
      detail: expect.stringMatching(/more than 32 MB and no end.*check ANTHROPIC_BASE_URL/),
    });
  });

  it('is not the stream: many may be longer than that together', async () => {
    const ping = `event: ping\r\ndata: {"type":"ping","x":"${mebibyte}"}\r\n\r\n`;
    const { steps } = fixture('text');
    const { url } = await serve({ steps: [...Array<string>(40).fill(ping), ...steps] });
    const answer = await ask(url);
    expect(answer.ended?.stopReason).toBe('end_turn');
  });
});
