/** The public face `escapement/services`: parts of the engine for hosts that build their own. */
export { conversation, type Line, question } from './as-actor.ts';
export { emptyHistory, MessageLog } from './message-log.ts';
export type { LogMessage } from './messages.ts';
export { createCallModel } from './model/call-model.ts';
export { createClient } from './model/client.ts';
export { costOf, defaultModel, modelFacts } from './model/model-table.ts';
export type { CallModel, ModelClient, ModelEvent, ModelRequest, Usage } from './model/types.ts';
export { createJudge } from './permissions/judge.ts';
export { createLegalize } from './preprocess/legalize.ts';
export { createTokenCounter } from './preprocess/token-count.ts';
