import { describe, expect, it } from 'vitest';
import { forbidsRetry, jitter, retryAfterMs } from '../../../services/model/backoff.ts';
import { classify } from '../../../services/model/classify.ts';
import { isWellFormed } from '../../../services/well-formed.ts';

const NOW_MS = Date.parse('2026-11-30T12:00:00Z');
const of = (error: unknown) => classify(error, { nowMs: NOW_MS, random: 0.5 });
/** As the SDK throws it. */
const answer = (
  status: number | undefined,
  type: string | null,
  message: string,
  more: object = {},
) => ({
  status,
  type,
  apiMessage: message,
  message: `${status} {"type":"error"}`,
  headers: new Headers(),
  ...more,
});
const bad = (message: string) => of(answer(400, 'invalid_request_error', message));

describe('a 400 means many things', () => {
  it.each([
    ['prompt is too long: 210000 tokens > 200000 maximum'],
    ['Prompt is too long'],
    ['Input is too long for requested model.'],
    ['the request exceeds the available context size. try increasing the context size'],
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"],
    ['input length exceeds the context window of this model'],
    ['input length and `max_tokens` exceed context limit'],
    ['input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000'],
    ['input length and `max_tokens` exceed context limit: 210000 + 32000 > 200000'],
  ])('prompt_too_long: %s', (message) => {
    expect(bad(message).class).toBe('prompt_too_long');
    expect(bad(message)).not.toHaveProperty('fittingTokens');
  });

  it.each([
    [
      'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease',
      9_000,
    ],
    ['input length and max_tokens exceed context limit: 190,000 + 32,000 > 200,000', 9_000],
    [
      'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude',
      64_000,
    ],
  ])('output_cap_too_high: %s', (message, fittingTokens) => {
    expect(bad(message)).toMatchObject({ class: 'output_cap_too_high', fittingTokens });
  });

  it.each([
    [
      'messages.7.content.2.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    ],
    [
      'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes',
    ],
    ['Could not process image'],
    ['An image in the conversation exceeds the dimension limit for many-image requests (2000px)'],
    [
      'The image was specified using the image/jpeg media type, but the image appears to be a image/png image',
    ],
    ['messages.2.content.0.source.media_type: Input should be image/jpeg'],
    ['A maximum of 100 PDF pages may be provided.'],
  ])('bad_image: %s', (message) => {
    expect(bad(message).class).toBe('bad_image');
  });

  it.each([
    ['tools.3.name: generate_image is used twice'],
    ['messages.1.content.0.thinking: each thinking block must contain a signature'],
    ['messages: at least one message is required'],
  ])('bad_request: %s', (message) => {
    expect(bad(message).class).toBe('bad_request');
  });
});

describe('errors of other clients', () => {
  it.each([
    [
      'an older SDK',
      {
        status: 529,
        error: { type: 'error', error: { type: 'overloaded_error', message: 'busy' } },
      },
      'overloaded',
    ],
    [
      'a body without envelope',
      { status: 400, error: { type: 'exceed_context_size_error', message: 'x' } },
      'prompt_too_long',
    ],
    [
      'AWS',
      { name: 'ThrottlingException', message: 'slow', $metadata: { httpStatusCode: 429 } },
      'rate_limited',
    ],
    ['AWS in a stream', { name: 'ThrottlingException', message: 'slow' }, 'rate_limited'],
    [
      'Bedrock in a stream',
      { name: 'ValidationException', message: 'Input is too long for requested model.' },
      'prompt_too_long',
    ],
    [
      'AWS credentials',
      { name: 'CredentialsProviderError', message: 'Could not load credentials' },
      'auth',
    ],
    [
      'no credentials',
      new Error('Could not resolve authentication method. Expected one of'),
      'auth',
    ],
    ['node-fetch', { type: 'system', code: 'ECONNRESET', message: 'socket hang up' }, 'connection'],
    [
      'undici',
      new TypeError('terminated', {
        cause: { code: 'UND_ERR_SOCKET', message: 'other side closed' },
      }),
      'connection',
    ],
    [
      'a limit of Node',
      new TypeError('terminated', { cause: { code: 'UND_ERR_BODY_TIMEOUT' } }),
      'stalled',
    ],
    [
      'another limit of Node',
      new TypeError('fetch failed', { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }),
      'timeout',
    ],
    [
      'a limit of the SDK',
      { name: 'APIConnectionTimeoutError', message: 'Request timed out.' },
      'timeout',
    ],
    ['a timeout signal', new DOMException('late', 'TimeoutError'), 'timeout'],
    ['408', { status: 408, message: 'x' }, 'timeout'],
    ['409', { status: 409, message: 'x' }, 'server'],
    ['503 of a proxy', { status: 503, message: '503 <html></html>' }, 'server'],
    ['418', { status: 418, message: 'x' }, 'bad_request'],
    [
      'a name that does not resolve',
      new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } }),
      'connection',
    ],
  ])('%s', (_, error, expected) => {
    expect(of(error).class).toBe(expected);
  });

  it.each([[undefined], [null], ['text'], [7], [{}], [Object.create(null)], [new Error('')]])(
    'whatever was thrown: %s',
    (error) => {
      expect(of(error)).toMatchObject({ class: 'bug', detail: expect.any(String) });
    },
  );

  it('a circle of causes', () => {
    const error = new Error('round');
    error.cause = error;
    expect(of(error).class).toBe('bug');
  });
});

describe('another try', () => {
  const limited = (headers: Record<string, string>) =>
    of(answer(429, 'rate_limit_error', 'slow down', { headers: new Headers(headers) }));

  it('waits as long as the server says', () => {
    expect(limited({ 'retry-after': '2' }).retryAfterMs).toBe(2_000);
    expect(limited({ 'retry-after': '1.5' }).retryAfterMs).toBe(1_500);
    expect(limited({ 'retry-after-ms': '250', 'retry-after': '9' }).retryAfterMs).toBe(250);
    expect(limited({ 'retry-after': 'Mon, 30 Nov 2026 12:00:30 GMT' }).retryAfterMs).toBe(30_000);
  });

  it.each([
    ['abc'],
    [''],
    ['-5'],
    ['0'],
    ['NaN'],
    ['Infinity'],
    ['1e400'],
    ['12 apples'],
    ['99999999999999999999'],
    ['Mon, 30 Nov 2020 12:00:30 GMT'],
    ['Mon, 99 Foo 2026'],
    ['2026'],
  ])('does not believe "retry-after: %s"', (value) => {
    const failure = limited({ 'retry-after': value });
    // 2026 is a number of seconds, whatever it looks like.
    if (value === '2026') expect(failure.retryAfterMs).toBe(2_026_000);
    else expect(failure).not.toHaveProperty('retryAfterMs');
    expect(failure.class).toBe('rate_limited');
  });

  it('says when, for a wait that is too long (RTY-05)', () => {
    const { detail, retryAfterMs: waitMs } = limited({ 'retry-after': '11180' });
    expect(waitMs).toBe(11_180_000);
    expect(detail).toContain('may be tried again in 11180 s, at 2026-11-30T15:06:20.000Z');
  });

  it('is pointless when the server says so, or a certificate is bad', () => {
    expect(limited({ 'x-should-retry': 'false' }).isFinal).toBe(true);
    expect(limited({ 'x-should-retry': 'true' })).not.toHaveProperty('isFinal');
    const tls = new TypeError('fetch failed', { cause: { code: 'SELF_SIGNED_CERT_IN_CHAIN' } });
    expect(of(tls)).toMatchObject({ class: 'connection', isFinal: true });
  });

  it('reads headers of any client', () => {
    expect(retryAfterMs({ 'Retry-After': '3' }, NOW_MS)).toBe(3_000);
    expect(retryAfterMs(undefined, NOW_MS)).toBeUndefined();
    expect(forbidsRetry({ 'X-Should-Retry': 'FALSE' })).toBe(true);
  });

  it('is spread by a quarter either way', () => {
    expect([jitter(0), jitter(0.5), jitter(1)]).toEqual([-0.25, 0, 0.25]);
  });
});

describe('the line for people', () => {
  it('has status, type and the sentence of the API', () => {
    expect(bad('tools.0: wrong').detail).toBe('400 invalid_request_error: tools.0: wrong');
  });

  it('names what happened below a general word', () => {
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:9');
    const error = Object.assign(new Error('Connection error.', { cause }), {
      name: 'APIConnectionError',
    });
    expect(of(error).detail).toBe('Connection error.: connect ECONNREFUSED 127.0.0.1:9');
  });

  it('is one line of a sane length', () => {
    const { detail } = bad(`a\n\tb ${'😀'.repeat(5_000)}`);
    expect(detail).not.toMatch(/\n|\t/);
    expect(detail.length).toBeLessThanOrEqual(300);
    expect(isWellFormed(detail)).toBe(true);
  });

  it.each([
    ['Incorrect API key provided: sk-ant-api03-abcdefghijklmnop'],
    ['header "authorization: Bearer abc.def.ghi" refused'],
    ['x-api-key=supersecretvalue is unknown'],
  ])('keeps secrets: %s', (message) => {
    const { detail } = bad(message);
    expect(detail).not.toMatch(/abcdef|abc\.def|supersecret/);
    expect(detail).toContain('[secret]');
  });
});
