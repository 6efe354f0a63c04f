/** Asks the real service, over the real SDK, and keeps what it says. */

import type { LogMessage } from '../../../services/messages.ts';
import { createCallModel } from '../../../services/model/call-model.ts';
import { createClient } from '../../../services/model/client.ts';
import type { ModelEvent, ModelRequest } from '../../../services/model/types.ts';
import type { WatchLimits } from '../../../services/model/watchdog.ts';

export const prompt: LogMessage = {
  uuid: 'prompt',
  role: 'user',
  kind: 'note',
  origin: 'prompt',
  timestamp: '2026-11-30T00:00:00.000Z',
  content: [{ type: 'text', text: 'hello' }],
};

export const requestFor = (given: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [prompt],
  systemPrompt: [],
  thinking: { type: 'disabled' },
  tools: [],
  model: 'claude-sonnet-5-5',
  maxTokens: 8_000,
  querySource: 'main',
  signal: new AbortController().signal,
  ...given,
});

/** Uuids that count, so that a test can name them. */
export const counter = () => {
  let n = 0;
  return () => `u${++n}`;
};

export interface Asked {
  readonly request?: Partial<ModelRequest>;
  readonly limits?: Partial<WatchLimits>;
}

/** The service against a server. */
export const modelAt = (url: string, limits: Partial<WatchLimits> = {}) =>
  createCallModel({
    client: createClient({
      apiKey: 'sk-ant-test-key-000000',
      baseURL: url,
      ...(limits.idleMs === undefined ? {} : { idleMs: limits.idleMs }),
    }),
    limits,
    uuid: counter(),
    now: () => Date.parse('2026-11-30T12:00:00Z'),
    random: () => 1,
  });

export async function ask(url: string, { request, limits }: Asked = {}): Promise<Answer> {
  const events: ModelEvent[] = [];
  for await (const event of modelAt(url, limits)(requestFor(request))) events.push(event);
  return new Answer(events);
}

/** What was said, by kind. */
export class Answer {
  readonly events: readonly ModelEvent[];
  constructor(events: readonly ModelEvent[]) {
    this.events = events;
  }
  of<T extends ModelEvent['type']>(type: T): Extract<ModelEvent, { type: T }>[] {
    return this.events.filter((e): e is Extract<ModelEvent, { type: T }> => e.type === type);
  }
  /** Everything but raw events, in order. */
  get kinds(): readonly string[] {
    return this.events.filter(({ type }) => type !== 'raw').map(({ type }) => type);
  }
  get messages(): readonly LogMessage[] {
    return this.events.flatMap((e) =>
      e.type === 'block' || e.type === 'toolUse' ? [e.message] : [],
    );
  }
  get failure() {
    return this.of('failed')[0]?.failure;
  }
  get ended() {
    return this.of('ended')[0];
  }
  get warnings(): readonly string[] {
    return this.of('warning').map((e) => e.text);
  }
  /** Uuids that raw events have shown. */
  get shown(): ReadonlySet<string> {
    return new Set(this.of('raw').flatMap((e) => e.messageUuid ?? []));
  }
}
