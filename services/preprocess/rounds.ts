/**
 * A history as rounds: an assistant message with what was answered to it. The one place that knows
 * where a history may be cut.
 */
import type { LogMessage, ToolResultBlock, ToolUseBlock } from '../messages.ts';

export interface Round {
  /** Blocks of one assistant message. Empty only for what stands before the first answer. */
  readonly said: readonly LogMessage[];
  /** Results, notes and prompts up to the next assistant message. */
  readonly heard: readonly LogMessage[];
  /** Both, in the order of the log: results come while the model still speaks. */
  readonly all: readonly LogMessage[];
}

interface OpenRound {
  said: LogMessage[];
  heard: LogMessage[];
  all: LogMessage[];
}

/** Nothing but tool results. */
export const isAnswer = (message: LogMessage) =>
  message.content.length > 0 && message.content.every((block) => block.type === 'tool_result');

const goesOn = (round: OpenRound, message: LogMessage) => {
  const last = round.said.at(-1);
  if (!last || last.apiId !== message.apiId) return false;
  // Without an id (a foreign transcript) only direct neighbours are known to belong together.
  return message.apiId !== undefined || round.heard.length === 0;
};

/** Splits a history, as `model/request.ts` groups it. The parts in order are the whole. */
export const roundsOf = (messages: readonly LogMessage[]): readonly Round[] => {
  const rounds: OpenRound[] = [];
  let round: OpenRound | undefined;
  for (const message of messages) {
    if (!round || (message.role === 'assistant' && !goesOn(round, message))) {
      round = { said: [], heard: [], all: [] };
      rounds.push(round);
    }
    round.all.push(message);
    (message.role === 'assistant' ? round.said : round.heard).push(message);
  }
  return rounds;
};

/** The calls of a message. */
export const callsOf = (message: LogMessage): readonly ToolUseBlock[] =>
  message.content.filter((block) => block.type === 'tool_use');

/** The results in a message. */
export const resultsOf = (message: LogMessage): readonly ToolResultBlock[] =>
  message.content.filter((block) => block.type === 'tool_result');
