/**
 * A `fetch` for a Messages API and nothing else. A page of a proxy or a captive portal with status
 * 200 would look like a stream that has ended too early, and be asked for ten times; a redirect
 * would send the whole conversation to whomever it names.
 */
import type { FailureClass } from '../../machines/state.ts';

const CURE = 'check ANTHROPIC_BASE_URL';
/** What an answer says to a request that asks for a stream; errors are JSON, or anything at all. */
const OTHER_CONTENT = /^(text\/html|text\/xml|application\/(json|xml|xhtml\+xml))\b/i;

/** There is something at the address, but no Messages API. Final: it will not be there next time. */
class NotTheApi extends Error {
  override readonly name = 'NotTheApi';
  /** Read by the classifier. */
  readonly failureClass: FailureClass = 'not_found';
}

export function onlyTheApi(fetch: typeof globalThis.fetch): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    const objection = objectionTo(response, input);
    if (objection === undefined) return response;
    await response.body?.cancel().catch(() => {});
    throw new NotTheApi(`${objection}: ${CURE}`);
  };
}

function objectionTo(response: Response, asked: string | URL | Request): string | undefined {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    return `answered ${status}, a redirect to ${placeOf(headers.get('location'))}, which is not followed`;
  }
  if (!response.ok || !isOfMessages(asked)) return undefined;
  if (!response.body) return `answered ${status} without a body`;
  const content = headers.get('content-type') ?? '';
  return OTHER_CONTENT.test(content)
    ? `answered ${content.split(';')[0]}, not a stream of events`
    : undefined;
}

/** These stream, all of them; the counting of tokens does not. */
const isOfMessages = (asked: string | URL | Request): boolean => {
  const url = asked instanceof Request ? asked.url : asked;
  return new URL(url).pathname.endsWith('/messages');
};

/** Without its query: it may carry a token. */
function placeOf(location: string | null): string {
  if (location === null) return 'nowhere';
  return URL.canParse(location) ? new URL(location).origin : 'another path';
}
