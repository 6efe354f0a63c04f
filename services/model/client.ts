/**
 * The client for the Messages API: the official SDK, loaded at the first request, with everything
 * that it would do by itself switched off (retries, credentials from the environment or from
 * disk, logs to stdout, warnings of retired models on stderr, telemetry).
 *
 * One thing of the SDK's stays: it adds the headers of `ANTHROPIC_CUSTOM_HEADERS`. A proxy is not
 * our business: Node's `fetch` follows `HTTPS_PROXY` when it is told to (`NODE_USE_ENV_PROXY=1`,
 * from 22.21 and 24.5 on); elsewhere a host injects `fetch`.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { Stream } from '@anthropic-ai/sdk/core/streaming';
import { onlyTheApi } from './only-the-api.ts';
import type { ModelClient } from './types.ts';
import { defaultWatchLimits, watchBytes } from './watchdog.ts';

/** How to reach a model. Nothing of it is looked up anywhere else. */
export interface ClientOptions {
  /** Anything with `messages.create`: it is used as it is. */
  readonly client?: ModelClient;
  readonly apiKey?: string;
  /** Wins over `apiKey`. */
  readonly authToken?: string;
  readonly baseURL?: string;
  readonly fetch?: typeof globalThis.fetch;
  /** A `null` takes a header away. */
  readonly defaultHeaders?: Readonly<Record<string, string | null>>;
  /** No bytes for so long: stalled. 0: never. */
  readonly idleMs?: number;
  /** Until the headers of an answer. */
  readonly headersMs?: number;
}

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/** Costs nothing until it is used. */
export function createClient(options: ClientOptions): ModelClient {
  if (options.client) return options.client;
  let loading: Promise<Anthropic> | undefined;
  const load = () => {
    loading ??= loadClient(options);
    return loading;
  };
  return {
    messages: {
      // Not `messages.create`: that one writes to the console when a model is about to retire, and a
      // host's stderr is not ours. What it adds beside is for calls that do not stream.
      create: async (body, request) =>
        (await load()).post<Stream<Anthropic.RawMessageStreamEvent>>('/v1/messages', {
          body,
          ...request,
          stream: true,
        }),
      countTokens: async (body, request) => (await load()).messages.countTokens(body, request),
    },
  };
}

async function loadClient(options: ClientOptions): Promise<Anthropic> {
  const { default: Client } = await import('@anthropic-ai/sdk');
  const { authToken, apiKey, baseURL, defaultHeaders = {} } = options;
  const hasCredential = Boolean(authToken || apiKey) || hasAuthorization(defaultHeaders);
  return new Client({
    // One credential, and never none: then the SDK would walk its profiles on disk.
    ...(authToken ? { authToken, apiKey: null } : { apiKey: apiKey ?? '', authToken: null }),
    baseURL: baseURL || 'https://api.anthropic.com',
    webhookKey: null,
    fetch: watchBytes(
      onlyTheApi(options.fetch ?? globalThis.fetch),
      options.idleMs ?? defaultWatchLimits.idleMs,
    ),
    // A server of one's own may want no key; an empty one would still be sent.
    defaultHeaders: { ...(hasCredential ? {} : { authorization: null }), ...defaultHeaders },
    maxRetries: 0,
    timeout: options.headersMs ?? defaultWatchLimits.headersMs,
    logger: silent,
    logLevel: 'off',
    openTelemetry: false,
  });
}

const hasAuthorization = (headers: Readonly<Record<string, string | null>>): boolean =>
  Object.keys(headers).some((name) => /^(authorization|x-api-key)$/i.test(name));
