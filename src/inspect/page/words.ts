/** How numbers, times and ids read. */

const whole = new Intl.NumberFormat('en');
export const count = (value: number): string => whole.format(value);
/** 950 · 1.2k · 3.4M */
export function short(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 999_500) return `${trim(value / 1_000)}k`;
  return `${trim(value / 1_000_000)}M`;
}
const trim = (value: number) => value.toFixed(value < 99.5 ? 1 : 0).replace(/\.0$/, '');

export function usd(value: number | null): string {
  if (value === null) return 'price unknown';
  return value !== 0 && value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

/** 0.4 ms · 12 ms · 1.2 s · 3:05 min */
export function duration(ms: number): string {
  if (ms < 10) return `${Math.max(0, Math.round(ms * 10) / 10)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`;
}

/** Of the day, in the reader's zone. */
export function clock(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

/** Without the machine's own id: `sampling.streaming`. */
export const shortState = (id: string): string => id.split('.').slice(1).join('.') || id;

/** XState's own events, in words. */
export function eventName(type: string): string {
  return type
    .replace(/^xstate\.done\.actor\.(?:\d+\.)?(.+)$/, '$1 done')
    .replace(/^xstate\.error\.actor\.(?:\d+\.)?(.+)$/, '$1 failed')
    .replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1')
    .replace(/^xstate\.done\.state\.(.+)$/, '$1 reached its end')
    .replace(/^xstate\.init$/, 'start')
    .replace(/^xstate\.stop$/, 'stop');
}
/** Of the runtime, not of the machine's own alphabet. */
export const isInternal = (type: string): boolean => type.startsWith('xstate.');
