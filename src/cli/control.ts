/**
 * The control protocol: requests in both directions on the lines of stdin and stdout.
 *
 * What the official Agent SDK 0.3.332 really does (read in its `sdk.mjs`, seen on the wire):
 * - Every host request is `{type:'control_request', request_id, request:{subtype, …}}`; it is
 *   answered by `{type:'control_response', response:{subtype:'success', request_id, response}}` or
 *   `{subtype:'error', request_id, error, error_code?}`. Ours to the host have the same shape.
 * - `{type:'control_cancel_request', request_id}` takes a request back, in both directions. It is
 *   not answered; the host aborts the callback's signal and may still answer, which is ignored.
 * - `initialize` is its first line, always, with `hooks` (ids of callbacks by matcher), the prompts
 *   (`systemPrompt: string[]`; `['']` when the host named none, absent for the preset),
 *   `appendSystemPrompt`, `agents`, `jsonSchema`, names of its in-process MCP servers and
 *   `sdkMcpServerManifests` (their answers to `initialize` and `tools/list`, so that no round trip
 *   is needed). The first prompt follows at once, without waiting for our answer; only with a hook
 *   `onFailure: 'block'` or fields delivered in `initialize` it waits. It ends the session if the
 *   answer lacks `hook_on_failure_supported`, `settings_applied`, `disallowed_tools_applied` or
 *   `mcp_servers_applied` for what it sent. Of the answer it shows commands, agents, models, account.
 * - `canUseTool` is announced by `--permission-prompt-tool=stdio`; `can_use_tool` is answered by
 *   `{behavior:'allow', updatedInput?, updatedPermissions?}` or `{behavior:'deny', message,
 *   interrupt?}`, a callback that throws by an error.
 * - `mcp_message` carries JSON-RPC: ours is answered by `{mcp_response}` (for a notification a
 *   dummy); the server's own messages come as host requests of the same subtype.
 * - Arguments are `--flag=value` but for `--settings`, `--mcp-config` and extra arguments, which are
 *   two arguments; lists are joined by commas. The environment gets CLAUDE_CODE_ENTRYPOINT and
 *   CLAUDE_CODE_SDK_READS_SESSION_STATE=1: with a `session_state_changed` that is not `idle` it
 *   keeps stdin open after a result until `idle` comes.
 * - A single prompt: it closes stdin when the result is there. Abort or `return()`: it closes stdin,
 *   sends SIGTERM 2 s later and SIGKILL 5 s after that. An exit code that is not 0 becomes an error
 *   of the iterator.
 */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../services/is-record.ts';
import { messageOf } from '../../services/message-of.ts';

/** A message of the host or to it; fields are checked where they are read. */
export type Fields = Readonly<Record<string, unknown>>;
/** What a request asks for: its subtype and the subtype's own fields. */
export type ControlBody = Fields & { readonly subtype: string };

/** Answers one kind of host request. *Contract:* a throw becomes the error response. */
export type ControlHandler = (body: ControlBody, signal: AbortSignal) => Promise<Fields> | Fields;

/** The host has not answered, and will not. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

interface Pending {
  readonly resolve: (response: Fields) => void;
  readonly reject: (error: Error) => void;
}

export interface ControlChannelParts {
  /** Hands one message to the host. */
  readonly write: (message: Fields) => Promise<void>;
  /** By subtype. Anything else is answered by an error. */
  readonly handlers: Readonly<Record<string, ControlHandler>>;
  /** For people: what was wrong with a line. */
  readonly warn: (text: string) => void;
}

/** One channel to one host. Never throws on what the host sends. */
export class ControlChannel {
  readonly #parts: ControlChannelParts;
  readonly #pending = new Map<string, Pending>();
  readonly #answering = new Map<string, AbortController>();
  #closed: string | undefined;

  constructor(parts: ControlChannelParts) {
    this.#parts = parts;
  }

  /**
   * Asks the host. Waits as long as the signal lets it: a question to a person has no deadline, the
   * services that have one abort the signal.
   * @throws ControlError when the host answers with an error, when it has gone, or on abort.
   */
  request(body: ControlBody, signal?: AbortSignal): Promise<Fields> {
    if (this.#closed !== undefined) return Promise.reject(new ControlError(this.#closed));
    if (signal?.aborted) return Promise.reject(new ControlError('aborted before it was asked'));
    const requestId = randomUUID();
    return new Promise<Fields>((resolve, reject) => {
      const onAbort = () => {
        settle();
        this.#send({ type: 'control_cancel_request', request_id: requestId });
        reject(new ControlError(`${body.subtype} was aborted`));
      };
      const settle = () => {
        this.#pending.delete(requestId);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#pending.set(requestId, {
        resolve: (response) => {
          settle();
          resolve(response);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#send({ type: 'control_request', request_id: requestId, request: body });
    });
  }

  /** Takes a message of the host; `false` when it is none of the control protocol. */
  hear(message: Fields): boolean {
    switch (message.type) {
      case 'control_request':
        this.#onRequest(message);
        return true;
      case 'control_response':
        this.#onResponse(message.response);
        return true;
      case 'control_cancel_request':
        this.#answering.get(String(message.request_id))?.abort();
        return true;
      default:
        return false;
    }
  }

  /** No answer can come any more: what waits for one fails now, instead of never. */
  close(cause: string): void {
    this.#closed ??= cause;
    for (const pending of [...this.#pending.values()]) pending.reject(new ControlError(cause));
    for (const answering of this.#answering.values()) answering.abort();
  }

  #onResponse(response: unknown): void {
    if (!isRecord(response) || typeof response.request_id !== 'string') {
      this.#parts.warn('a control_response without request_id was ignored');
      return;
    }
    // Unknown ids are normal: the answer to a request that was taken back.
    const pending = this.#pending.get(response.request_id);
    if (!pending) return;
    if (response.subtype === 'success') {
      const answer = response.response;
      pending.resolve(isRecord(answer) ? answer : {});
    } else
      pending.reject(new ControlError(String(response.error ?? 'the host answered with an error')));
  }

  #onRequest(message: Fields): void {
    const { request_id: requestId, request: body } = message;
    if (typeof requestId !== 'string') {
      this.#parts.warn('a control_request without request_id was ignored');
      return;
    }
    const subtype = isRecord(body) ? body.subtype : undefined;
    const handler = typeof subtype === 'string' ? this.#handlerOf(subtype) : undefined;
    if (!isRecord(body) || !handler) {
      const error = `Unsupported control request subtype: ${String(subtype)}`;
      this.#refuse(requestId, error, 'unsupported_request');
      return;
    }
    void this.#answer(requestId, body as ControlBody, handler);
  }

  #handlerOf(subtype: string): ControlHandler | undefined {
    return Object.hasOwn(this.#parts.handlers, subtype) ? this.#parts.handlers[subtype] : undefined;
  }

  async #answer(requestId: string, body: ControlBody, handler: ControlHandler): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(requestId, controller);
    try {
      const response = await handler(body, controller.signal);
      this.#send({
        type: 'control_response',
        response: { subtype: 'success', request_id: requestId, response },
      });
    } catch (error) {
      this.#refuse(requestId, messageOf(error));
    } finally {
      this.#answering.delete(requestId);
    }
  }

  #refuse(requestId: string, error: string, errorCode?: string): void {
    this.#send({
      type: 'control_response',
      response: {
        subtype: 'error',
        request_id: requestId,
        error,
        ...(errorCode !== undefined && { error_code: errorCode }),
      },
    });
  }

  /** Control messages are few and small: nobody has to wait for the pipe because of them. */
  #send(message: Fields): void {
    void this.#parts.write(message);
  }
}
