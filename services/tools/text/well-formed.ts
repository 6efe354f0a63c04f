/** Half of a surrogate pair without the other half. */
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const ANY_SURROGATE = /[\uD800-\uDFFF]/;

/**
 * The text as it may stand in a request: halves of characters become U+FFFD, nothing else changes.
 * (`String.prototype.toWellFormed` is in Node, but not yet in the language level that we check.)
 */
export const wellFormed = (text: string): string =>
  ANY_SURROGATE.test(text) ? text.replace(LONE_SURROGATE, '\uFFFD') : text;
