/** Control characters, and the two separators that some renderers break lines at. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BREAKING = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]/;
const EACH_C1 = /[\u007F-\u009F\u2028\u2029]/g;

/**
 * A file's name in one line. Most names are shown as they are; a name with a line break or another
 * control character is shown as a JSON string, so that it can not pass for two results.
 */
export const oneLine = (name: string): string =>
  BREAKING.test(name)
    ? JSON.stringify(name).replace(
        EACH_C1,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
    : name;
