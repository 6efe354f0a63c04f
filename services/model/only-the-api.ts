/**
 * A `fetch` for a Messages API and nothing else. A page of a proxy or a captive portal with status
 * 200 would look like a stream that has ended too early, and be asked for ten times; a redirect to
 * another host would send the whole conversation to whomever it names.
 */
import type { FailureClass } from '../../machines/state.ts';

const CURE = 'check ANTHROPIC_BASE_URL';
const REDIRECTS_MAX = 2;
/** No stream, whatever is in it. */
const PAGE = /^(text\/html|text\/xml|application\/(xml|xhtml\+xml))\s*(;|$)/i;
/** Mostly no stream; some gateways call their streams so. */
const JSON_TYPE = /^application\/json\s*(;|$)/i;

type Asked = string | URL | Request;

/** There is something at the address, but no Messages API. Final: it will not be there next time. */
class NotTheApi extends Error {
  override readonly name = 'NotTheApi';
  /** Read by the classifier. */
  readonly failureClass: FailureClass = 'not_found';
  constructor(objection: string) {
    super(`${objection}: ${CURE}`);
  }
}

export function onlyTheApi(fetch: typeof globalThis.fetch): typeof fetch {
  return async (asked, init) => {
    let at = asked;
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(at, { ...init, redirect: 'manual' });
      const next = redirects < REDIRECTS_MAX ? sameServer(response, at) : undefined;
      if (next === undefined) return await checked(response, at);
      letGo(response);
      at = next;
    }
  };
}

/** Where it has moved to, when that is still who was asked, and the request goes there as it is. */
function sameServer({ status, headers }: Response, asked: Asked): URL | undefined {
  const location = headers.get('location');
  if ((status !== 307 && status !== 308) || location === null) return undefined;
  const from = urlOf(asked);
  if (!URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  const isUpgrade =
    from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname;
  return to.origin === from.origin || isUpgrade ? to : undefined;
}

/** @throws {NotTheApi} */
async function checked(response: Response, asked: Asked): Promise<Response> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    const place = placeOf(headers.get('location'));
    throw refusal(response, `answered ${status}, a redirect to ${place}, which is not followed`);
  }
  if (!response.ok || !isOfMessages(asked)) return response;
  if (!response.body) throw new NotTheApi(`answered ${status} without a body`);
  const content = headers.get('content-type') ?? '';
  const objection = `answered ${content.split(';')[0]?.trim()}, not a stream of events`;
  if (PAGE.test(content)) throw refusal(response, objection);
  return JSON_TYPE.test(content) ? await unlessJson(response, response.body, objection) : response;
}

/** The same answer, once its first bytes have said that it is no JSON. */
async function unlessJson(
  response: Response,
  body: ReadableStream<Uint8Array>,
  objection: string,
): Promise<Response> {
  const reader = body.getReader();
  const first = await reader.read();
  if (first.done || /^\s*[{[]/.test(new TextDecoder().decode(first.value))) {
    void reader.cancel().catch(() => {});
    throw new NotTheApi(objection);
  }
  const { status, statusText, headers } = response;
  const whole = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(first.value),
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(whole, { status, statusText, headers });
}

function refusal(response: Response, objection: string): NotTheApi {
  letGo(response);
  return new NotTheApi(objection);
}

/** A host's own `fetch` may have bodies of another kind: then there is nothing to let go. */
function letGo({ body }: Response): void {
  if (typeof body?.cancel === 'function') void body.cancel().catch(() => {});
}

/** These stream, all of them; the counting of tokens does not. */
const isOfMessages = (asked: Asked): boolean => urlOf(asked).pathname.endsWith('/messages');

const urlOf = (asked: Asked): URL => new URL(asked instanceof Request ? asked.url : asked);

/** Without its query: it may carry a token. */
function placeOf(location: string | null): string {
  if (location === null) return 'nowhere';
  return URL.canParse(location) ? new URL(location).origin : 'another path';
}
