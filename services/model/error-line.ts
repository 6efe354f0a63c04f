/** An error for people: one clear line, without secrets, without a page of HTML. */
import type { ErrorFacts } from './classify.ts';
import { wellFormed } from './well-formed.ts';

/** A line that a terminal shows without wrapping three times. */
const LINE_CHARS_MAX = 300;
/** Gateways echo keys in their refusals. */
const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|key|api)[-_][A-Za-z0-9_-]{8,}/g,
  /\bBearer\s+[^\s"',;]+/gi,
  /\b(?:x-api-key|authorization|api[_ -]?key)["']?\s*[:=]\s*["']?[^\s"',;]+/gi,
];

/** @example "429 rate_limit_error: This request would exceed your rate limit" */
export function errorLine(
  facts: Pick<ErrorFacts, 'status' | 'type' | 'message' | 'codes'>,
): string {
  const head = [facts.status, facts.type].filter((part) => part !== undefined).join(' ');
  const said = withoutHtml(facts.message);
  const code = facts.codes.find((one) => !said.includes(one));
  const line = `${head === '' ? '' : `${head}: `}${said}${code === undefined ? '' : ` (${code})`}`;
  return cut(withoutSecrets(wellFormed(line.replaceAll(/\s+/g, ' ').trim())));
}

/** Keys and tokens replaced. */
export const withoutSecrets = (text: string): string =>
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
