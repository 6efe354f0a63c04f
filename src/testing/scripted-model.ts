/** The scripted API without a server: a client for the engine, in the same process. */
import { createClient } from '../../services/model/client.ts';
import type { ModelClient } from '../../services/model/types.ts';
import { ResponsePipe } from './response-pipe.ts';
import type { Script } from './script.ts';
import { type ApiRecord, ScriptedApi, type ServerOptions } from './scripted-api.ts';

export interface ScriptedModelOptions extends ServerOptions {
  /** A stream without a byte for so long counts as stalled. Default: the engine's 90 s. */
  readonly idleMs?: number;
}

/** A model that plays a script, and what it has seen. */
export interface ScriptedModel extends ApiRecord, ModelClient {
  /** Plays the same script: for the option `fetch`, or for a client of your own. */
  readonly fetch: typeof globalThis.fetch;
  /** Breaks what is open and ends all waits. Nothing else has to be cleaned up. */
  close(): void;
}

/**
 * A model for tests that need no network: the same scripts, rules and faults as the scripted
 * server, through the official SDK, without a port. Only what is of the network itself differs: a
 * connection that breaks is an error of `fetch`.
 *
 * @example
 * const model = scriptedModel({ replies: [overloaded(), say('hello')] });
 * for await (const message of query({ prompt: 'hi', options: { client: model } })) …
 * assert.deepEqual(model.violations, []);
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  return new ModelInProcess(script, options);
}

/** Nobody is asked for it; the SDK wants one. */
const BASE_URL = 'http://scripted.invalid';

class ModelInProcess extends ScriptedApi implements ScriptedModel {
  readonly messages: ModelClient['messages'];

  constructor(script: Script, { idleMs, ...options }: ScriptedModelOptions) {
    super(script, options);
    const client = createClient({
      apiKey: 'of no value',
      baseURL: BASE_URL,
      fetch: this.fetch,
      ...(idleMs === undefined ? {} : { idleMs }),
    });
    this.messages = client.messages;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const pipe = new ResponsePipe();
    const exchange = this.begin(pipe, pipe.gone);
    pipe.listen(init?.signal ?? request.signal, () => this.lost(exchange));
    const body = Buffer.from(await request.arrayBuffer());
    const { pathname, search } = new URL(request.url);
    const { method } = request;
    const headers = Object.fromEntries(request.headers);
    void this.serve({ method, path: `${pathname}${search}`, headers, body }, exchange);
    return pipe.response;
  };
}
