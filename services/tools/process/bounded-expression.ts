/**
 * Regular expressions of somebody else: one that backtracks for ever must not stop the process.
 * Only a script in a context of its own can be given a deadline.
 */
import { type Context, createContext, Script } from 'node:vm';
import { messageOf } from '../../message-of.ts';

/** Enough for 30,000 characters of lines, too little to be felt. */
const DEADLINE_MS = 250;
/** Nobody writes a longer one by hand. */
const SOURCE_CHARS_MAX = 1_000;

export type BoundedExpression =
  | {
      readonly ok: true;
      /** The texts that match; `undefined` when it took too long to tell. */
      filter(texts: readonly string[]): readonly string[] | undefined;
    }
  | { readonly ok: false; readonly message: string };

/** Strings in, a string out: no object of ours is reachable from the context. */
const TEST_ALL =
  '{ const e = new RegExp(source); JSON.stringify(JSON.parse(texts).map((t) => e.test(t))) }';
let script: Script | undefined;

/** Matches anywhere in a text, as `RegExp` does. */
export const boundedExpression = (source: string): BoundedExpression => {
  if (source.length > SOURCE_CHARS_MAX) {
    return { ok: false, message: `it is longer than ${SOURCE_CHARS_MAX} characters` };
  }
  try {
    new RegExp(source);
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
  let context: Context | undefined;
  return {
    ok: true,
    filter: (texts) => {
      script ??= new Script(TEST_ALL);
      context ??= createContext({ source, texts: '' });
      try {
        context.texts = JSON.stringify(texts);
        const answer: unknown = script.runInContext(context, { timeout: DEADLINE_MS });
        const verdicts = JSON.parse(String(answer)) as readonly boolean[];
        return texts.filter((_, index) => verdicts[index]);
      } catch {
        return undefined;
      }
    },
  };
};
