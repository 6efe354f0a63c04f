/** Grep's `glob`: which files are searched. */
import { compileGlob, expandBraces, type PathMatcher } from './glob-match.ts';
import { done, type Outcome } from './outcome.ts';

export interface GlobFilter {
  readonly isWanted: PathMatcher;
  /** Set when all globs are like `*.ts`: then ripgrep need not open other files. */
  readonly extensions: readonly string[] | undefined;
}

/**
 * Several globs may stand in one text, parted by commas or spaces outside of braces. A glob without
 * `/` is about names in any folder, one with `/` about paths from the searched folder on; what is
 * below a folder that matches, matches, too. `!` leaves out. The last glob that matches decides.
 */
export const globFilterOf = (text: string | undefined): Outcome<GlobFilter> => {
  const globs = text === undefined ? [] : partsOf(text);
  const rules: { readonly isOut: boolean; readonly matches: PathMatcher }[] = [];
  for (const glob of globs) {
    const isOut = glob.startsWith('!');
    const body = (isOut ? glob.slice(1) : glob).replace(/\/$/, '');
    const anchored = body.includes('/') ? body : `**/${body}`;
    for (const pattern of [anchored, `${anchored}/**`]) {
      const matches = compileGlob(pattern);
      if (!matches.ok) return matches;
      rules.push({ isOut, matches: matches.value });
    }
  }
  const isOnlyOut = rules.every(({ isOut }) => isOut);
  return done({
    isWanted: (path) => {
      const last = rules.findLast(({ matches }) => matches(path));
      return last ? !last.isOut : isOnlyOut;
    },
    extensions: extensionsOf(globs),
  });
};

const partsOf = (text: string): string[] => {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const character of text) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (depth <= 0 && /[\s,]/.test(character)) {
      parts.push(part);
      part = '';
    } else part += character;
  }
  return [...parts, part].filter((each) => each !== '');
};

const extensionsOf = (globs: readonly string[]): string[] | undefined => {
  const all = globs.flatMap((glob) => expandBraces(glob) ?? ['']);
  if (all.length === 0 || !all.every((glob) => /^\*\.[\w-]+(?:\.[\w-]+)*$/.test(glob))) {
    return undefined;
  }
  return all.map((glob) => glob.slice(2));
};
