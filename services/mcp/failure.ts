/** What went wrong between us and a server, in words for the model and for people. */

/** *Contract:* `kind` says what can be done: nothing was run for `unsent` and `sessionLost`. */
export interface Failure {
  readonly kind:
    | 'cancelled'
    | 'timeout'
    /** The server went while the request was open: nobody knows what it has done. */
    | 'closed'
    /** The connection was gone before the request. */
    | 'unsent'
    /** A server over HTTP that does not know our session any more: it was started again. */
    | 'sessionLost'
    | 'unauthorized'
    /** The server has refused or failed, in its own words; the connection stands. */
    | 'refused'
    /** The network. */
    | 'unreachable';
  readonly why: string;
}

/**
 * Evidence (@modelcontextprotocol/client 2.4.0): a deadline **and** an abort both reject with
 * `SdkError` code REQUEST_TIMEOUT, so the signal is looked at first. A server that ends rejects what
 * is open with CONNECTION_CLOSED and what comes later with `Error: Not connected`. Errors of the
 * protocol carry a number as their code, errors of HTTP a `status`.
 * @param server its name, for the remedy.
 */
export function failureOf(error: unknown, signal: AbortSignal, server?: string): Failure {
  if (signal.aborted) return { kind: 'cancelled', why: 'the call was cancelled' };
  const { code, status, name, message = '' } = fieldsOf(error);
  if (code === 'REQUEST_TIMEOUT') return { kind: 'timeout', why: 'no answer in time' };
  if (code === 'CONNECTION_CLOSED') return { kind: 'closed', why: 'the connection was closed' };
  if (code === 'NOT_CONNECTED' || message === 'Not connected') {
    return { kind: 'unsent', why: 'not connected' };
  }
  const isUnauthorized = name === 'UnauthorizedError' || name === 'InsufficientScopeError';
  if (status === 401 || status === 403 || isUnauthorized) {
    const login = `escapement mcp login${server === undefined ? '' : ` ${server}`}`;
    const why = `it asks for an authorization: \`${login}\` asks a person for it, or set the header that it wants in its "headers"`;
    return { kind: 'unauthorized', why };
  }
  // The protocol says 404; many servers say 400 to a session that they do not know.
  if (status === 404 || status === 400) return { kind: 'sessionLost', why: message };
  if (typeof code === 'number') return { kind: 'refused', why: `MCP error ${code}: ${message}` };
  const cause = error instanceof TypeError ? fieldsOf(error.cause) : {};
  const why = [message || String(error), cause.message].filter(Boolean).join(': ');
  if (neverConnected.has(cause.code)) return { kind: 'unsent', why };
  return { kind: isNetwork(error) ? 'unreachable' : 'refused', why };
}

/** No connection was made, so nothing was sent. */
const neverConnected = new Set<unknown>([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
]);

/** `fetch` rejects with a TypeError whose cause is the socket's error; a gateway has a status. */
const isNetwork = (error: unknown): boolean =>
  error instanceof TypeError || fieldsOf(error).status !== undefined;

interface ErrorFields {
  readonly code?: unknown;
  readonly status?: unknown;
  readonly name?: unknown;
  readonly message?: string;
}
const fieldsOf = (error: unknown): ErrorFields =>
  error !== null && typeof error === 'object' ? (error as ErrorFields) : {};
