/** A host that hears everything, and what it has to look at afterwards. */
import { randomUUID } from 'node:crypto';
import type { Prompt, SubmitOptions } from '../config.ts';
import type { QueryEngine } from '../query-engine.ts';
import type { SDKMessage, SDKResultMessage } from '../wire.ts';
import { agreedBy, type SessionFacts, warningsDuring } from './invariants.ts';

export interface RecordedSession {
  /** All that was heard, of all turns. */
  readonly messages: readonly SDKMessage[];
  readonly results: readonly SDKResultMessage[];
  /**
   * One turn, heard to its end.
   * @throws Error when the turn ends without one.
   * @param during called for each message as it comes: to interrupt, to ask beside.
   */
  prompt(
    prompt: Prompt,
    options?: SubmitOptions & { readonly during?: (message: SDKMessage) => void | Promise<void> },
  ): Promise<SDKResultMessage>;
  /** For `checkInvariants`. Before the engine is closed. */
  facts(): SessionFacts;
}

/**
 * Begins to listen. Takes the engine's `inspect`.
 * @param model the scripted server or model that the engine talks to.
 *
 * @example
 * const session = recordSession(engine, model);
 * const { result } = await session.prompt('do it');
 * expectReasons(session.messages, ['next_turn', 'completed']);
 * checkInvariants(session.facts());
 */
export function recordSession(engine: QueryEngine, model: SessionFacts['server']): RecordedSession {
  const messages: SDKMessage[] = [];
  const results: SDKResultMessage[] = [];
  const prompts: string[] = [];
  const agreed = agreedBy(engine);
  const warnings = warningsDuring();
  return {
    messages,
    results,
    prompt: async (prompt, { during, ...options } = {}) => {
      const uuid = options.uuid ?? randomUUID();
      prompts.push(uuid);
      let last: SDKResultMessage | undefined;
      for await (const message of engine.submitMessage(prompt, { ...options, uuid })) {
        messages.push(message);
        if (message.type === 'result') {
          last = message;
          results.push(message);
        }
        await during?.(message);
      }
      if (!last) throw new Error(`the turn has no result: of the prompt ${uuid}`);
      return last;
    },
    facts: () => ({
      ...{ messages, results, prompts, agreed, warnings: warnings() },
      ...{ history: engine.messages, server: model },
    }),
  };
}
