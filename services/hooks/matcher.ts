/** Which calls a hook is for, as the settings say it. */
import { boundedExpression } from '../tools/process/bounded-expression.ts';

export type Matcher =
  | { readonly ok: true; readonly matches: (query: string) => boolean }
  | { readonly ok: false; readonly message: string };

/** Names only, perhaps several: no expression. */
const NAMES = /^[a-zA-Z0-9_|]+$/;

/**
 * `*`, nothing: everything. `Edit|Write`: these names exactly. Anything else: a regular expression
 * that matches anywhere in the name. One that takes too long on a name counts as a match: a hook
 * that guards something is rather asked too often.
 */
export const readMatcher = (text: string | undefined): Matcher => {
  const matcher = text?.trim() ?? '';
  if (matcher === '' || matcher === '*') return { ok: true, matches: () => true };
  if (NAMES.test(matcher)) {
    const names = new Set(matcher.split('|'));
    return { ok: true, matches: (query) => names.has(query) };
  }
  const expression = boundedExpression(matcher);
  if (!expression.ok) return expression;
  return { ok: true, matches: (query) => expression.filter([query])?.length !== 0 };
};
