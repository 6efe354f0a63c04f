import { clipEnd } from '../process/clip.ts';
import { amount } from './amounts.ts';

/** One long line, cut between graphemes, with what is missing said at the place of the cut. */
export const cutLine = (line: string, charsMax: number, charsTotal = line.length): string => {
  if (charsTotal <= charsMax) return line;
  const kept = clipEnd(line, charsMax);
  return `${kept}… [${amount(charsTotal - kept.length)} more characters in this line]`;
};
