/** How to reach a model, from options and environment; and which one. */
import { defaultModel, modelByAlias } from '../services/model/model-table.ts';
import type { ModelAccess } from './config.ts';
import type { Options } from './options.ts';
import { UsageError } from './usage-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws UsageError when there is no way to a model. */
export function modelAccess(options: Options, environment: Environment): ModelAccess {
  const apiKey = environment.ANTHROPIC_API_KEY || undefined;
  const authToken = environment.ANTHROPIC_AUTH_TOKEN || undefined;
  const baseURL = environment.ANTHROPIC_BASE_URL || undefined;
  if (!options.client && !apiKey && !authToken && !baseURL) {
    throw new UsageError(
      'no model to talk to: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for any server that speaks ' +
        'the Messages API (`npm start` shows a demo without either)',
    );
  }
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new UsageError(`ANTHROPIC_BASE_URL is no URL: ${baseURL}`);
  }
  const idleMs = numberFrom(environment, 'ESCAPEMENT_STREAM_IDLE_MS');
  const headersMs = headersMsFrom(environment);
  return {
    ...(options.client ? { client: options.client } : {}),
    ...(options.fetch ? { fetch: options.fetch } : {}),
    ...(options.defaultHeaders ? { defaultHeaders: options.defaultHeaders } : {}),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(authToken === undefined ? {} : { authToken }),
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(headersMs === undefined ? {} : { headersMs }),
  };
}

/** 0 would be no time at all, and none without a bound is offered. @throws UsageError */
export function headersMsFrom(environment: Environment): number | undefined {
  return numberFrom(environment, 'ESCAPEMENT_HEADERS_MS') || undefined;
}

/**
 * The model that was named, an alias (`sonnet`, `opus`, `haiku`) resolved. A name that nobody
 * knows is only refused where it cannot be right: on Anthropic's own address.
 * @throws UsageError
 */
export function modelNamed(name: string | undefined, access: ModelAccess): string {
  if (name === undefined) return defaultModel();
  const trimmed = name.trim();
  const alias = modelByAlias(trimmed);
  if (alias !== undefined) return alias;
  const isOwnServer = access.client !== undefined || access.baseURL !== undefined;
  if (trimmed === '' || /\s/.test(trimmed) || (!isOwnServer && !trimmed.startsWith('claude-'))) {
    throw new UsageError(
      `unknown model "${name}": name a Claude model or an alias (sonnet, opus, haiku); ` +
        'models of other servers need ANTHROPIC_BASE_URL',
    );
  }
  return trimmed;
}

/** @throws UsageError when the variable is set and no whole number of at least 0. */
export function numberFrom(environment: Environment, name: string): number | undefined {
  const text = environment[name];
  if (text === undefined || text.trim() === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UsageError(`${name} must be a whole number of at least 0, not "${text}"`);
}
