/** A store of messages follows what the engine drops: the original design's `snipReplay`. */
import { bareUuid } from '../services/preprocess/revise.ts';
import type { QueryEngineConfig } from './config.ts';
import type { SDKMessage } from './wire.ts';

/** Drops from a store what a snip has dropped. `undefined`: the message tells of no snip. */
export const replaySnip: NonNullable<QueryEngineConfig['snipReplay']> = (said, store) => {
  if (said.type !== 'system' || said.subtype !== 'context_edit' || said.stage !== 'snip')
    return undefined;
  const gone = new Set(said.ids);
  const messages = store.filter(({ uuid }) => !gone.has(bareUuid(uuid)));
  return { messages, executed: messages.length < store.length };
};

/** The same messages; each is looked at before it is passed on. */
export async function* watching<R>(
  messages: AsyncGenerator<SDKMessage, R, unknown>,
  look: (message: SDKMessage) => void,
): AsyncGenerator<SDKMessage, R, unknown> {
  let isOver = false;
  try {
    for (;;) {
      const step = await messages.next();
      if (step.done) {
        isOver = true;
        return step.value;
      }
      look(step.value);
      yield step.value;
    }
  } finally {
    // Left early: what runs behind these messages is stopped.
    if (!isOver) await messages.return(undefined as R);
  }
}
