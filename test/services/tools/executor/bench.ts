/** A place to run calls: a real log and a real executor; tools and hooks as a host would write. */
import type { QueryEvent } from '../../../../machines/events.ts';
import type { HookVerdict, RunHooks } from '../../../../services/hooks/types.ts';
import { emptyHistory, MessageLog } from '../../../../services/message-log.ts';
import type { LogMessage, ToolUseBlock, Unreadable } from '../../../../services/messages.ts';
import type { PermissionDenial } from '../../../../services/permissions/types.ts';
import type { ExecutorDeps } from '../../../../services/tools/executor/deps.ts';
import { StreamingToolExecutor } from '../../../../services/tools/executor/index.ts';
import type { Tool, ToolContext, ToolInput } from '../../../../services/tools/tool.ts';

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
export const quiet: HookVerdict = { blocked: [], additionalContext: [], warnings: [] };
/** Hooks by event; an event without one says nothing. */
export const hooks =
  (byEvent: Record<string, (fields: Readonly<Record<string, unknown>>) => Partial<HookVerdict>>) =>
  async (event: string, fields: Readonly<Record<string, unknown>>): Promise<HookVerdict> => ({
    ...quiet,
    ...byEvent[event]?.(fields),
  });

/** A tool of one parameter `tag`; `body` is what it does. */
export const tool = (
  name: string,
  body: (input: ToolInput, context: ToolContext) => Promise<string> | string,
  more: Partial<Tool> = {},
): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  maxResultSizeChars: 50_000,
  parse: (input) =>
    typeof (input as ToolInput).tag === 'string'
      ? { ok: true, input: input as ToolInput }
      : { ok: false, message: 'the parameter "tag" is missing' },
  isConcurrencySafe: () => false,
  isReadOnly: () => false,
  touches: () => ({ kind: 'unknown' }),
  deadlineMs: () => 10_000,
  gist: (input) => String(input.tag),
  call: async (input, context) => ({ content: await body(input, context) }),
  ...more,
});
export const safe = { isConcurrencySafe: () => true, isReadOnly: () => true };

export interface Bench {
  readonly executor: StreamingToolExecutor;
  readonly log: MessageLog;
  readonly events: QueryEvent[];
  readonly denials: PermissionDenial[];
  readonly warnings: string[];
  readonly amendments: ToolInput[];
  interrupts: number;
  add(id: string, name: string, input: ToolInput, unreadable?: Unreadable): void;
  /** Drains, and waits for the last word. */
  drained(): Promise<QueryEvent>;
  /** The result block of a call. */
  result(id: string): { text: string; isError: boolean; message: LogMessage };
  types(): string[];
}

export function bench(
  tools: readonly Tool[],
  more: Partial<ExecutorDeps> & { runHooks?: RunHooks } = {},
): Bench {
  const log = new MessageLog();
  const events: QueryEvent[] = [];
  let count = 0;
  const deps: ExecutorDeps = {
    tools: () => tools,
    judge: async () => ({ behavior: 'allow', because: 'a test' }),
    runHooks: async () => quiet,
    log,
    uuid: () => `u${++count}`,
    now: () => Date.now(),
    makeContext: (toolUseId, signal, given) => ({
      sessionId: 's',
      toolUseId,
      idempotencyKey: `s:${toolUseId}`,
      cwd: '/',
      setCwd: () => {},
      additionalDirectories: [],
      resultsFolder: '/',
      signal,
      env: {},
      state: { get: (_, make) => make() },
      ...given,
    }),
    permissionContext: () => ({
      mode: 'default',
      rules: [],
      additionalDirectories: [],
      isBypassAvailable: false,
    }),
    cwd: () => '/',
    onDenied: (denial) => made.denials.push(denial),
    onInterrupt: () => {
      made.interrupts += 1;
      events.push({ type: 'abort' });
    },
    onWarning: (text) => made.warnings.push(text),
    amendToolUse: (_, input) => made.amendments.push(input),
    streaming: true,
    ...more,
  };
  const executor = new StreamingToolExecutor(deps, (event) => events.push(event));
  const last = ['tools.drained', 'tools.stopped', 'tools.deferred'];
  const made: Bench = {
    ...{ executor, log, events, denials: [], warnings: [], amendments: [], interrupts: 0 },
    add(id, name, input, unreadable) {
      const block: ToolUseBlock = { type: 'tool_use', id, name, input };
      const message: LogMessage = {
        ...{ uuid: `m-${id}`, role: 'assistant', kind: 'tool_use', toolUseId: id },
        ...{ origin: 'model', timestamp: '2026-01-01T00:00:00Z', content: [block] },
        ...(unreadable ? { unreadable } : {}),
      };
      log.append(emptyHistory, [message]);
      executor.hear({ type: 'stream.toolUse', id, deadlineMs: 60_000, message });
    },
    async drained() {
      executor.hear({ type: 'tools.drain' });
      for (let tries = 0; tries < 1_000; tries++) {
        const end = events.find(({ type }) => last.includes(type));
        if (end) return end;
        await sleep(5);
      }
      throw new Error(`no end: ${JSON.stringify(events)}`);
    },
    result(id) {
      const found = events.filter((e) => e.type === 'tool.result' && e.id === id);
      if (found.length !== 1) throw new Error(`${found.length} results for ${id}`);
      const [event] = found;
      if (event?.type !== 'tool.result') throw new Error('no result');
      const message = log.get(event.message.uuid);
      const [block] = message.content;
      if (block?.type !== 'tool_result') throw new Error('no tool_result');
      const { content } = block;
      const text =
        typeof content === 'string'
          ? content
          : (content ?? []).map((c) => (c.type === 'text' ? c.text : `<${c.type}>`)).join('|');
      return { text, isError: block.is_error === true, message };
    },
    types: () => events.map(({ type }) => type),
  };
  return made;
}
