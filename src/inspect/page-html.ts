/**
 * The page as one text, whole in itself: nothing is fetched for it from anywhere. With a recording in
 * it, it opens from a file and needs nobody.
 */
import { createHash } from 'node:crypto';
import { pageBundle } from './page-bundle.generated.ts';

export interface PageOptions {
  /** The text of a recording: the page shows it instead of asking a server. */
  readonly data?: string;
  /** Of the `content-security-policy` that the server sends along. */
  readonly nonce?: string;
}

/** Without a nonce the page carries a policy of its own, by hash: no network, no other script. */
export function pageHtml({ data, nonce }: PageOptions = {}): string {
  const { script, style, body } = pageBundle;
  const mark = nonce === undefined ? '' : ` nonce="${nonce}"`;
  const policy =
    nonce === undefined
      ? `<meta http-equiv="content-security-policy" content="default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; base-uri 'none'; form-action 'none'">`
      : '';
  const recording =
    data === undefined
      ? ''
      : `<script type="application/json" id="recording"${mark}>${withoutTags(data)}</script>`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    policy,
    '<title>Inspector</title><meta name="viewport" content="width=device-width">',
    `<link rel="icon" href="data:,">`,
    `<style${mark}>${style}</style></head><body>${body}${recording}`,
    `<script type="module"${mark}>${script}</script></body></html>`,
  ].join('');
}

/** No text of a run can end the element that it stands in: JSON says `<` in another way. */
const withoutTags = (json: string) => json.replaceAll('<', '\\u003c');
const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
