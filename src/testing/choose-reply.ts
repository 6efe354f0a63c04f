/** Which step of a script answers a request. */
import {
  firstText,
  lastText,
  type ReceivedRequest,
  systemText,
  toolResults,
} from './received-request.ts';
import { say } from './replies.ts';
import {
  type ComputedReply,
  type Condition,
  type MessageReply,
  PURPOSES,
  type Purpose,
  type Reply,
  type Script,
  type Step,
} from './script.ts';

/** Word that every default summary holds; look for it in later requests. */
export const SUMMARY_MARK = 'CONDENSED';
/** Word that every default answer to a collapse request holds. */
export const COLLAPSE_MARK = 'FOLDED';

/** What answers a request of this purpose when the script does not say. `n` from 0. */
function defaultReply(purpose: Purpose, n: number): MessageReply {
  switch (purpose) {
    case 'loop':
      return say('The script has no more replies.');
    case 'compact':
      return say(
        `<summary>${SUMMARY_MARK}-${n + 1}: the user asked for something and tools ran.</summary>`,
      );
    case 'collapse':
      return say(`${COLLAPSE_MARK}-${n + 1}: a few steps were taken here.`);
    case 'tool_summary':
      return say('Ran some tools');
    case 'hook_agent':
      return say('{"ok":true}');
  }
}

type Taken = Reply | ComputedReply;

interface Entry {
  readonly step: Taken;
  readonly purpose: Purpose;
  left: number;
}

const asTaken = (step: Step): Taken => {
  if (typeof step === 'string') return say(step);
  return typeof step === 'function' ? { kind: 'computed', reply: step } : step;
};

/** Does the condition hold? The purpose is compared by the caller. */
function conditionHolds(condition: Condition, request: ReceivedRequest): boolean {
  const { n, model, lastTextIncludes, toolResultIncludes, firstTextIncludes } = condition;
  if (n !== undefined && request.n !== n) return false;
  if (model !== undefined && request.body.model !== model) return false;
  if (lastTextIncludes !== undefined && !lastText(request).includes(lastTextIncludes)) return false;
  if (firstTextIncludes !== undefined && !firstText(request).includes(firstTextIncludes)) {
    return false;
  }
  if (
    condition.systemIncludes !== undefined &&
    !systemText(request).includes(condition.systemIncludes)
  ) {
    return false;
  }
  if (
    toolResultIncludes !== undefined &&
    !toolResults(request).some((result) => result.text.includes(toolResultIncludes))
  ) {
    return false;
  }
  return condition.matches?.(request) ?? true;
}

/** The uses of one script: which steps are left. One for each server. */
export class ReplyChooser {
  readonly #entries: Entry[];
  readonly #lastOf = new Map<Purpose, Taken>();
  readonly #whenExhausted: Taken | undefined;

  constructor(script: Script) {
    const lists: Record<Purpose, readonly Step[]> = {
      loop: script.replies ?? [],
      compact: script.compactions ?? [],
      collapse: script.collapses ?? [],
      tool_summary: script.toolSummaries ?? [],
      hook_agent: script.hookAgents ?? [],
    };
    this.#entries = PURPOSES.flatMap((purpose) =>
      lists[purpose].map(asTaken).map((step) => ({
        step,
        purpose: step.when?.purpose ?? purpose,
        left: step.times === 'always' ? Number.MAX_SAFE_INTEGER : (step.times ?? 1),
      })),
    );
    for (const purpose of PURPOSES) {
      const last = lists[purpose].at(-1);
      if (purpose !== 'loop' && last !== undefined) this.#lastOf.set(purpose, asTaken(last));
    }
    this.#whenExhausted =
      script.whenExhausted === undefined ? undefined : asTaken(script.whenExhausted);
  }

  /**
   * Takes the reply for a request and uses it up.
   * *Contract:* rejects only when a reply function of the script throws.
   */
  async take(request: ReceivedRequest): Promise<Reply> {
    const entry = this.#entries.find(
      ({ step, purpose, left }) =>
        left > 0 &&
        purpose === request.purpose &&
        (step.when === undefined || conditionHolds(step.when, request)),
    );
    if (entry) entry.left--;
    const step = entry?.step ?? this.#afterTheEnd(request);
    if (step.kind !== 'computed') return step;
    const reply = await step.reply(request, request.n);
    return typeof reply === 'string' ? say(reply) : reply;
  }

  /** Replies of the loop that no request has taken. */
  get repliesLeft(): number {
    const ofTheLoop = this.#entries.filter(
      ({ step, purpose }) => purpose === 'loop' && step.times !== 'always',
    );
    return ofTheLoop.reduce((sum, entry) => sum + entry.left, 0);
  }

  #afterTheEnd({ purpose, n }: ReceivedRequest): Taken {
    const more = purpose === 'loop' ? this.#whenExhausted : this.#lastOf.get(purpose);
    return more ?? defaultReply(purpose, n);
  }
}
