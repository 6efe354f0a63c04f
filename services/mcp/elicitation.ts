/** A server asks the person something in the middle of a call. The host puts the question. */
import { orAborted } from '../or-aborted.ts';
import type { ToolContext } from '../tools/tool.ts';

/** As the protocol says it. */
export interface ElicitationRequest {
  readonly message: string;
  /** `form`: fields to fill in; `url`: a page to visit. Absent: `form`. */
  readonly mode?: 'form' | 'url';
  /** Of a form: flat properties, as JSON Schema. */
  readonly requestedSchema?: Readonly<Record<string, unknown>>;
  readonly url?: string;
  readonly elicitationId?: string;
}

/** What the host is asked, with who asks. */
export interface ElicitationQuestion extends ElicitationRequest {
  readonly serverName: string;
}

export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, string | number | boolean | string[]>>;
}

/**
 * *Contract:* obeys the signal; one that does not is not waited for. Anything but an answer in this
 * shape counts as declined.
 */
export type HandleElicitation = (
  question: ElicitationQuestion,
  signal: AbortSignal,
) => Promise<unknown>;

type Reply = ElicitationAnswer & Record<string, unknown>;

/** What a client may say of itself: some of what the server asks is answered. */
export const elicitationCapability = { elicitation: { form: {}, url: {} } } as const;

/** A call that the server works on. */
interface Working {
  readonly context: ToolContext;
  /** Aborted when nobody waits for the call any more. */
  readonly over: AbortSignal;
}

/**
 * The questions of one server. The protocol does not say for which of its calls a server asks: all
 * that it works on wait for the answer, and their clocks stand still.
 */
export class Elicitation {
  readonly #serverName: string;
  readonly #working = new Set<Working>();
  #handle: HandleElicitation | undefined;

  constructor(serverName: string, handle?: HandleElicitation) {
    this.#serverName = serverName;
    this.#handle = handle;
  }

  /** Who answers. Servers are told with the handshake whether there is somebody. */
  answerBy(handle: HandleElicitation): void {
    this.#handle = handle;
  }

  get isAnswered(): boolean {
    return this.#handle !== undefined;
  }

  /** While the server works on a call. Rejects and resolves as the call does. */
  async during<T>(context: ToolContext, call: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const working = { context, over: AbortSignal.any([over.signal, context.signal]) };
    this.#working.add(working);
    try {
      return await call();
    } finally {
      this.#working.delete(working);
      over.abort();
    }
  }

  /**
   * Puts one question. *Contract:* never rejects: nothing is ever given to a server because
   * something went wrong. Cancelled when none of the calls is waited for any more.
   */
  async answer(request: ElicitationRequest, signal: AbortSignal): Promise<Reply> {
    const handle = this.#handle;
    if (!handle) return { action: 'decline' };
    const working = [...this.#working];
    const ending = new AbortController();
    const asked = AbortSignal.any([signal, ending.signal]);
    const answered = put(this.#serverName, request, handle, asked);
    let isAnswered = false;
    void answered.then(() => {
      isAnswered = true;
    });
    const waits = working.map(({ context, over }) => {
      const wait = () => orAborted(answered, over);
      return context.whilePersonIsAsked ? context.whilePersonIsAsked(wait) : wait();
    });
    if (waits.length > 0) {
      void Promise.all(waits).then(() => {
        if (!isAnswered) ending.abort(); // a host may keep the signal
      });
    }
    return answered;
  }
}

async function put(
  serverName: string,
  request: ElicitationRequest,
  handle: HandleElicitation,
  signal: AbortSignal,
): Promise<Reply> {
  const { message, mode = 'form', requestedSchema, url, elicitationId } = request;
  const question = {
    ...{ serverName, message, mode },
    ...(requestedSchema ? { requestedSchema } : {}),
    ...(url === undefined ? {} : { url }),
    ...(elicitationId === undefined ? {} : { elicitationId }),
  };
  let answer: unknown;
  try {
    const answering = handle(question, signal).then((said) => {
      answer = said;
    });
    await orAborted(answering, signal);
  } catch {
    return { action: signal.aborted ? 'cancel' : 'decline' };
  }
  return signal.aborted ? { action: 'cancel' } : checked(answer);
}

function checked(answer: unknown): Reply {
  if (answer === null || typeof answer !== 'object') return { action: 'decline' };
  const { action, content } = answer as { action?: unknown; content?: unknown };
  if (action === 'cancel') return { action };
  if (action !== 'accept') return { action: 'decline' };
  const isContent = content !== null && typeof content === 'object' && !Array.isArray(content);
  return isContent
    ? { action, content: content as NonNullable<ElicitationAnswer['content']> }
    : { action };
}
