import { clipEnd, clipStart } from '../process/clip.ts';
import { amount } from './amounts.ts';

/**
 * Beginning and end of a text that is too long, each cut between graphemes, and how much is
 * missing between them. A text that fits is returned as it is.
 * @param charsMax of the text itself, in UTF-16 units; the note comes on top.
 */
export const headAndTail = (text: string, charsMax: number): string => {
  if (text.length <= charsMax) return text;
  const head = clipEnd(text, Math.ceil(charsMax / 2));
  const tail = clipStart(text, Math.floor(charsMax / 2));
  const dropped = text.length - head.length - tail.length;
  return `${head}\n[… ${amount(dropped)} characters left out …]\n${tail}`;
};
