/**
 * One question to the small model, beside the loop: a summary of old rounds, a line about a round
 * of tools. No tools, no thinking, one request; what it has used is billed, also when it was broken
 * off. Whoever asks decides what an answer is worth, and whether to ask again.
 */
import type { LogMessage } from '../messages.ts';
import type { CallModel, ModelEvent, ModelRequest, Usage } from './types.ts';

export interface SmallQuestion {
  readonly system: string;
  readonly text: string;
  readonly maxTokens: number;
  readonly querySource: 'collapse' | 'tool_summary';
  /** The model of the loop. */
  readonly main: string;
  readonly signal: AbortSignal;
}

/** `usd`: dollars, 0 when the price is not known. */
export type SmallAnswer =
  | {
      readonly ok: true;
      readonly text: string;
      readonly usd: number;
      /** Absent: it has said all that it wanted to say. Else the reason why it was cut. */
      readonly cutBy?: string;
    }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly usd: number;
      /** The budget does not pay for it, so that nobody was asked: nobody has failed. */
      readonly isUnpaid?: true;
    };

export interface SmallModelDeps {
  readonly callModel: CallModel;
  /** @param main the model of the loop. */
  readonly nameBeside: (main: string) => string;
  /**
   * Whether the budget has room for a call of this size (tokens) at its worst price.
   * @param name the small model's.
   */
  readonly mayPay: (
    name: string,
    size: { readonly prompt: number; readonly answer: number },
  ) => boolean;
  /** Bills a call. @returns dollars. */
  readonly onUsage: (name: string, usage: Usage) => number;
  readonly makeNote: (text: string) => LogMessage;
}

export interface SmallModel {
  readonly nameBeside: SmallModelDeps['nameBeside'];
  /** Asked before a call is begun: what it may cost at worst is there. */
  mayPay(main: string, size: { readonly prompt: number; readonly answer: number }): boolean;
  /** *Contract:* never throws for what a server does; ends when the signal does. */
  ask(question: SmallQuestion): Promise<SmallAnswer>;
}

export function createSmallModel(deps: SmallModelDeps): SmallModel {
  return {
    nameBeside: deps.nameBeside,
    mayPay: (main, size) => deps.mayPay(deps.nameBeside(main), size),
    ask: async ({ system, text, main, ...question }) => {
      const request: ModelRequest = {
        ...question,
        model: deps.nameBeside(main),
        systemPrompt: [system],
        thinking: { type: 'disabled' },
        tools: [],
        messages: [deps.makeNote(text)],
      };
      return read(deps.callModel(request), (usage) => deps.onUsage(request.model, usage));
    },
  };
}

/** To its end. */
async function read(
  events: AsyncIterable<ModelEvent>,
  bill: (usage: Usage) => number,
): Promise<SmallAnswer> {
  let text = '';
  for await (const event of events) {
    switch (event.type) {
      case 'block':
        for (const block of event.message.content) if (block.type === 'text') text += block.text;
        break;
      case 'ended': {
        const { stopReason, usage } = event;
        const isWhole = stopReason === 'end_turn' || stopReason === 'stop_sequence';
        return { ok: true, text, usd: bill(usage), ...(isWhole ? {} : { cutBy: stopReason }) };
      }
      case 'failed': {
        const usd = event.usage ? bill(event.usage) : 0;
        const { class: kind, detail: reason } = event.failure;
        return {
          ...{ ok: false, reason, usd },
          ...(kind === 'over_budget' ? { isUnpaid: true } : {}),
        };
      }
      default:
        break; // deltas are for the loop's own answers
    }
  }
  return { ok: false, reason: 'the model said nothing', usd: 0 };
}
