/** HTML as Markdown: what a reader sees, without what only a browser needs. */
import type TurndownService from 'turndown';

/** Nothing of it is text for a reader, and it is most of many pages. */
const unread = /<(script|style|noscript|template|iframe|svg)\b[\s\S]*?(?:<\/\1\s*>|$)/gi;
const comments = /<!--[\s\S]*?(?:-->|$)/g;
/** Blanks that nobody reads, and for which the converter needs the square of their number. */
const longBlanks = /(?:\s|&nbsp;|&#160;|&#xa0;){100,}/gi;
/** What is left of it: parsing takes about a second for so much, and the process does nothing else. */
const HTML_CHARS_MAX = 300_000;
/** The parser's time grows with the square of the depth, and its stack with the depth. */
const DEPTH_MAX = 256;
/** They need no end tag, so they do not count. */
const endless =
  /^(?:p|li|d[dt]|t[drh]|tbody|thead|option|br|hr|img|input|meta|link|col|wbr|source)$/i;

let converter: Promise<TurndownService> | undefined;

/** *Contract:* never throws: what the library does not get through becomes plain text. */
export async function htmlToMarkdown(html: string): Promise<string> {
  const read = html
    .replace(unread, '')
    .replace(comments, '')
    .replace(longBlanks, '\n')
    .slice(0, HTML_CHARS_MAX);
  if (depthOf(read) > DEPTH_MAX) return squeezed(plainText(read));
  converter ??= makeConverter();
  try {
    return squeezed((await converter).turndown(read));
  } catch {
    return squeezed(plainText(read));
  }
}

async function makeConverter(): Promise<TurndownService> {
  const { default: Turndown } = await import('turndown');
  const service = new Turndown({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    hr: '---',
  });
  service.remove(['canvas', 'form', 'head']);
  // A picture in the page itself is a megabyte of letters.
  service.addRule('inline pictures', {
    filter: (node) => node.nodeName === 'IMG' && /^data:/i.test(node.getAttribute('src') ?? ''),
    replacement: () => '',
  });
  return service;
}

/** The deepest place, guessed from the tags. Linear, as every expression in this file. */
function depthOf(html: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][\w-]*)/gi)) {
    if (endless.test(name)) continue;
    depth = slash === '/' ? Math.max(0, depth - 1) : depth + 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

const plainText = (html: string): string =>
  html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&nbsp;/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&');

const squeezed = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
