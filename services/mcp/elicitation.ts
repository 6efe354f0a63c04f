/** A server asks the person something in the middle of a call. The host puts the question. */

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

/** *Contract:* obeys the signal. Anything but an answer in this shape counts as declined. */
export type HandleElicitation = (
  question: ElicitationQuestion,
  signal: AbortSignal,
) => Promise<unknown>;

type Reply = ElicitationAnswer & Record<string, unknown>;

/** *Contract:* never rejects: nothing is ever given to a server because something went wrong. */
export async function answerElicitation(
  serverName: string,
  request: ElicitationRequest,
  handle: HandleElicitation,
  signal: AbortSignal,
): Promise<Reply> {
  const { message, mode = 'form', requestedSchema, url, elicitationId } = request;
  try {
    const answer = await handle(
      {
        ...{ serverName, message, mode },
        ...(requestedSchema ? { requestedSchema } : {}),
        ...(url === undefined ? {} : { url }),
        ...(elicitationId === undefined ? {} : { elicitationId }),
      },
      signal,
    );
    return signal.aborted ? { action: 'cancel' } : checked(answer);
  } catch {
    return { action: signal.aborted ? 'cancel' : 'decline' };
  }
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
