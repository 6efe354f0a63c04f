/** Does the acts of a plan on an outlet: writes, waits, breaks. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from './json.ts';
import type { Outlet } from './outlet.ts';
import type { ApiError, DripFault, Fault, UsageFields } from './script.ts';
import { type Act, eventAct } from './stream-position.ts';

const DRIP_EVERY_MS = 10;
const OVERLOADED: ApiError = { type: 'overloaded_error', message: 'Overloaded' };
const HALF_A_DELTA = 'data: {"type":"content_block_delta","index":0,"del';

/** What has really gone out. */
interface Played {
  readonly complete: boolean;
  /** The last numbers of each field that were told; `undefined`: none. */
  readonly usage: UsageFields | undefined;
}

interface PlayOptions {
  readonly outlet: Outlet;
  /** Fires when the client goes or the server closes: all waiting ends. */
  readonly signal: AbortSignal;
  /** Index of the block that a drip opens: it gets one of its own. */
  readonly dripIndex: number;
  readonly onEvent: (event: string, index: number | undefined) => void;
  /** The client has this block whole. */
  readonly onBlock: (block: JsonObject) => void;
  readonly onFault: (fault: Fault) => void;
}

/** Waits, or returns early when the signal fires. The timer keeps no process alive. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  await delay(ms, undefined, { signal, ref: false }).catch(() => {});
}

/** Waits until the signal fires. */
export async function waitForEnd(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

async function write({ outlet, signal }: PlayOptions, bytes: Buffer | string): Promise<void> {
  if (!signal.aborted) await outlet.write(bytes);
}

/**
 * Plays acts to their end, to their break, or until the signal fires. Headers are already out.
 * *Contract:* never rejects.
 */
export async function play(acts: readonly Act[], options: PlayOptions): Promise<Played> {
  let usage: UsageFields | undefined;
  for (const act of acts) {
    if (options.signal.aborted) return { complete: false, usage };
    switch (act.type) {
      case 'wait':
        await wait(act.ms, options.signal);
        break;
      case 'until':
        await Promise.race([act.until(), waitForEnd(options.signal)]);
        break;
      case 'send':
        await write(options, act.bytes);
        if (act.event !== undefined) options.onEvent(act.event, act.index);
        if (act.whole) options.onBlock(act.whole);
        if (act.usage) usage = { ...usage, ...act.usage };
        break;
      case 'break':
        await wait(act.fault.delayMs ?? 0, options.signal);
        if (!options.signal.aborted) options.onFault(act.fault);
        await breakStream(act.fault, options);
        return { complete: false, usage };
    }
  }
  options.outlet.end();
  return { complete: true, usage };
}

async function send(options: PlayOptions, event: string, data: JsonObject): Promise<void> {
  const act = eventAct(event, data);
  if (act.type === 'send') await write(options, act.bytes);
  options.onEvent(event, undefined);
}

async function breakStream(fault: Fault, options: PlayOptions): Promise<void> {
  if (options.signal.aborted) return;
  const { outlet, signal } = options;
  switch (fault.kind) {
    case 'end':
      outlet.end();
      return;
    case 'cut':
      outlet.cut(fault.reset === true);
      return;
    case 'error':
      await send(options, 'error', { error: fault.error ?? OVERLOADED });
      outlet.end();
      return;
    case 'garbage':
      await write(options, `${fault.line ?? HALF_A_DELTA}\n\n`);
      outlet.end();
      return;
    case 'stall':
      if (fault.pingEveryMs === undefined) return waitForEnd(signal);
      while (!signal.aborted) {
        await wait(fault.pingEveryMs, signal);
        if (!signal.aborted) await send(options, 'ping', {});
      }
      return;
    case 'drip':
      return drip(fault, options);
  }
}

async function drip(fault: DripFault, options: PlayOptions): Promise<void> {
  const index = options.dripIndex;
  const delta = { type: 'text_delta', text: fault.text ?? '.' };
  await send(options, 'content_block_start', { index, content_block: { type: 'text', text: '' } });
  while (!options.signal.aborted) {
    await wait(fault.everyMs ?? DRIP_EVERY_MS, options.signal);
    if (!options.signal.aborted) await send(options, 'content_block_delta', { index, delta });
  }
}
