/** Compaction as it really runs: real log, real model service, a server that refuses bad requests. */
import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { QueryLimits } from '../../../machines/limits.ts';
import { begin, type Cursor, type QueryState } from '../../../machines/state.ts';
import type { HookVerdict, RunHooks } from '../../../services/hooks/types.ts';
import { emptyHistory, MessageLog } from '../../../services/message-log.ts';
import type { LogMessage } from '../../../services/messages.ts';
import { createCallModel } from '../../../services/model/call-model.ts';
import { createClient } from '../../../services/model/client.ts';
import type { Usage } from '../../../services/model/types.ts';
import type { StageWord } from '../../../services/preprocess/stage.ts';
import { createTokenCounter } from '../../../services/preprocess/token-count.ts';
import {
  type CompactDeps,
  type Compaction,
  createCompact,
} from '../../../services/recovery/compact.ts';
import { type Script, startScriptedServer } from '../../../src/testing/index.ts';

export const MODEL = 'test-model';
export const quiet: HookVerdict = { blocked: [], additionalContext: [], warnings: [] };

export interface Given {
  readonly script?: Script;
  readonly history: readonly LogMessage[];
  readonly windowTokens?: number;
  readonly hooks?: RunHooks;
  readonly reattach?: CompactDeps['reattach'];
}

export const world = async (given: Given) => {
  const server = await startScriptedServer(given.script ?? {});
  onTestFinished(() => server.close());
  const log = new MessageLog();
  const counter = createTokenCounter({ log, fixed: () => ({ system: ['be good'], tools: [] }) });
  const words: StageWord[] = [];
  const hookCalls: { event: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const billed: { model: string; usage: Usage }[] = [];
  const compactions: Compaction[] = [];
  const deps: CompactDeps = {
    log,
    counter,
    callModel: createCallModel({ client: createClient({ apiKey: 'key', baseURL: server.url }) }),
    partsOf: (state) => ({
      model: state.model,
      systemPrompt: ['be good'],
      thinking: { type: 'disabled' },
      tools: [],
    }),
    windowOf: () => ({ windowTokens: given.windowTokens ?? 20_000, outputTokensMax: 64_000 }),
    runHooks: async (event, fields, options) => {
      hookCalls.push({ event, fields });
      return given.hooks ? given.hooks(event, fields, options) : quiet;
    },
    tell: (word) => words.push(word),
    onUsage: (model, usage) => {
      billed.push({ model, usage });
      return 0.5;
    },
    onDone: (compaction) => compactions.push(compaction),
    reattach: given.reattach ?? (async () => []),
    uuid: randomUUID,
    now: Date.now,
  };
  const first = log.append(emptyHistory, given.history);
  const stateWith = (
    history: Cursor,
    more: Omit<Partial<QueryState>, 'limits'> & { limits?: Partial<QueryLimits> } = {},
  ): QueryState => ({
    ...begin({
      queryId: 'q',
      history,
      model: MODEL,
      ...more,
      limits: { retryBaseMs: 1, ...more.limits },
    }),
    withheld: more.withheld,
  });
  const history = { ...first, tokens: counter.estimate(first.head) };
  return {
    server,
    log,
    counter,
    words,
    hookCalls,
    billed,
    compactions,
    deps,
    history,
    stateWith,
    compact: createCompact(deps),
    /** The words of a kind. */
    told: <T extends StageWord['type']>(type: T) =>
      words.filter((word): word is Extract<StageWord, { type: T }> => word.type === type),
    messagesAt: (cursor: Cursor) => log.at(cursor.head),
  };
};

/** Prose of about so many tokens. */
export const prose = (tokens: number) =>
  'lorem ipsum dolor sit amet, consectetur. '.repeat(Math.ceil((tokens * 3) / 41));
