/** Why a value is no JSON that can be sent, in words of ours: the engine's own speak of its stack. */
import { messageOf } from './message-of.ts';

export function jsonFault(error: unknown): string {
  const said = messageOf(error);
  if (error instanceof RangeError && !said.startsWith('nested')) return 'nested too deeply';
  return /circular/i.test(said) ? 'it contains itself' : said.replaceAll(/\s+/g, ' ');
}
