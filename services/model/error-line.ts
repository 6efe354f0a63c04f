/** An error for people: one clear line, without secrets, without a page of HTML. */

import { wellFormed } from '../well-formed.ts';
import type { ErrorFacts } from './classify.ts';

/** A line that a terminal shows without wrapping three times. */
const LINE_CHARS_MAX = 300;
/** Gateways echo keys in their refusals. */
const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|key|api)[-_][A-Za-z0-9_-]{8,}/g,
  /\bBearer\s+[^\s"',;]+/gi,
  /\b(?:x-api-key|authorization|api[_ -]?key)["']?\s*[:=]\s*["']?[^\s"',;]+/gi,
];

type Facts = Pick<ErrorFacts, 'status' | 'type' | 'message' | 'codes' | 'messages'>;

/** @example "429 rate_limit_error: This request would exceed your rate limit" */
export function errorLine(facts: Facts): string {
  const head = [facts.status, facts.type].filter((part) => part !== undefined).join(' ');
  const said = withoutHtml(facts.message);
  const parts = head === '' ? [said, ...rootOf(facts, said)] : [head, said];
  const line = wellFormed(parts.join(': ').replaceAll(/\s+/g, ' ').trim());
  return cut(withoutSecrets(line));
}

/** "Connection error." is what a client says; what happened stands at the end of its causes. */
function rootOf({ messages, codes }: Facts, said: string): readonly string[] {
  const root = messages.at(-1) ?? '';
  const code = codes.find((one) => !root.includes(one));
  return [...(said.includes(root) ? [] : [root]), ...(code === undefined ? [] : [code])];
}

/** Keys and tokens replaced. */
const withoutSecrets = (text: string): string =>
  SECRETS.reduce((clean, secret) => clean.replaceAll(secret, '[secret]'), text);

/** The answer of a proxy: its title says all there is. The SDK puts the status in front. */
function withoutHtml(message: string): string {
  const start = message.search(/<(!doctype|html|head|body)\b/i);
  if (start < 0) return message;
  const title = /<title[^>]*>([^<]*)/i.exec(message)?.[1]?.trim();
  return title ? `an HTML page, "${title}"` : 'an HTML page';
}

const cut = (line: string): string =>
  line.length <= LINE_CHARS_MAX ? line : wellFormed(`${line.slice(0, LINE_CHARS_MAX - 1)}…`);
