/**
 * What may go to a terminal of what others wrote. Answers of models, results of tools and names of
 * files are untrusted: an escape sequence among them could move the cursor over what was shown, set
 * the clipboard or answer a question.
 */

/**
 * Control characters but line feed and tab, and the marks that reverse the direction of writing:
 * with those a command can look like another one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Without anything that a terminal would obey. A lone carriage return (a progress bar) is a line. */
export const printable = (text: string): string => text.replace(/\r\n?/g, '\n').replace(UNSAFE, '');

/** The same where hiding would mislead, as in a command that is to be allowed: shown as `\u001b`. */
export const visible = (text: string): string =>
  text
    .replace(/\r\n/g, '\n')
    .replace(UNSAFE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
