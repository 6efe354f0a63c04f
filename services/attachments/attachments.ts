/**
 * What is to be read together with the results of a round: prompts that came while the work ran,
 * words of hooks, changed files, reminders. Only ever appended: what was sent stays as it was.
 */
import type { QueryEvent } from '../../machines/events.ts';
import type { QueryState } from '../../machines/state.ts';
import type { MessageLog } from '../message-log.ts';
import { messageOf } from '../message-of.ts';
import type { LogMessage } from '../messages.ts';
import { revise } from '../preprocess/revise.ts';
import type { Tell } from '../preprocess/stage.ts';

export type AttachmentsReady = Extract<QueryEvent, { type: 'attachments.ready' }>;

/** Something that takes a while to find out. May reject: then it is left out, with a warning. */
export type AttachmentSource = (
  state: QueryState,
  signal: AbortSignal,
) => Promise<readonly LogMessage[]>;

export interface AttachmentsDeps {
  readonly log: MessageLog;
  /**
   * Finds out what of the queue may be read. What it gives takes those prompts out: called last,
   * once, and only when nothing can be lost.
   */
  readonly queued: (signal: AbortSignal) => Promise<() => readonly LogMessage[]>;
  /** Takes what hooks around the tools want to have read. */
  readonly contexts: () => readonly LogMessage[];
  /** Changed files, todo reminders, memory: by name, for the warning when one is too slow. */
  readonly sources?: Readonly<Record<string, AttachmentSource>>;
  readonly tell: Tell;
}

/** Of the chart's own deadline: after that nobody would listen. */
const DEADLINE_SHARE = 0.8;

const LEAD_IN = 'The user sent this while you were working. Take it into account from here on:';

/** What a source found; `nothing` when it failed or was too slow. */
const inTime = async <T>(
  name: string,
  nothing: T,
  finding: Promise<T>,
  deadline: Promise<'late'>,
  tell: Tell,
): Promise<T> => {
  try {
    const found = await Promise.race([finding, deadline]);
    if (found !== 'late') return found;
    tell({ type: 'warning', text: `${name} took too long and is left out` });
  } catch (error) {
    const why = messageOf(error);
    tell({ type: 'warning', text: `${name} is left out: ${why}` });
  }
  return nothing;
};

/** The order of the parts is fixed; within a part it is the order in which things came. */
export const createAttachments = ({
  log,
  queued,
  contexts,
  sources = {},
  tell,
}: AttachmentsDeps) => {
  const find = async (state: QueryState, signal: AbortSignal) => {
    const entries = Object.entries(sources);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, state.limits.attachMs * DEADLINE_SHARE, 'late');
      signal.addEventListener('abort', () => resolve('late'), { once: true });
    });
    // Started inside of `then`: a source that throws at once is a source that rejects.
    const finding = entries.map(([name, source]) =>
      inTime(
        name,
        [],
        Promise.resolve().then(() => source(state, signal)),
        deadline,
        tell,
      ),
    );
    const take = inTime('what was sent meanwhile', () => [], queued(signal), deadline, tell);
    const found = await Promise.all(finding);
    const taking = await take;
    clearTimeout(timer);
    return { found: found.flat(), take: taking };
  };

  const folded = (prompt: LogMessage): LogMessage => {
    const content = [{ type: 'text', text: LEAD_IN } as const, ...prompt.content];
    // A prompt keeps its name, by which its result will name it, unless the log has it already.
    return log.has(prompt.uuid) ? revise(prompt, content) : { ...prompt, content };
  };

  return async (state: QueryState, signal: AbortSignal): Promise<AttachmentsReady> => {
    const { found, take } = await find(state, signal);
    if (signal.aborted) return { type: 'attachments.ready', messages: [] };
    const messages = [...contexts(), ...found, ...take().map(folded)];
    return { type: 'attachments.ready', messages: messages.map((message) => log.put(message)) };
  };
};
