/**
 * `escapement/testing`: what we test ourselves with. A Messages API that answers from a script, as
 * a server or in the process; failures from a seed; time that a test moves; paths through a
 * machine; what must hold of every session. It needs no test framework.
 */
export { COLLAPSE_MARK, SUMMARY_MARK } from './choose-reply.ts';
export {
  type AppliedEdit,
  CONTEXT_EDITING_BETA,
  type EditedRequest,
  editContext,
} from './context-editing.ts';
export {
  type CoverOptions,
  coverTransitions,
  type Outcome,
  type Outcomes,
  type PathCoverage,
  type PathStep,
  type TestPath,
} from './cover-transitions.ts';
export { type Dice, diceOf } from './dice.ts';
export { expectReasons, reasonsOf } from './expect-reasons.ts';
export { type FakeClock, type FakeClockOptions, fakeClock } from './fake-clock.ts';
export { type AmongOptions, type Faults, type FaultsOptions, faults } from './faults.ts';
export {
  agreedBy,
  type BrokenInvariant,
  brokenInvariants,
  checkInvariants,
  type InvariantName,
  type SessionFacts,
  warningsDuring,
} from './invariants.ts';
export { journalStorePromises, type StorePromise } from './journal-store-promises.ts';
export {
  type ParsedScript,
  parseScript,
  parseScriptText,
  type ScriptProblem,
  scriptJsonSchema,
} from './parse-script.ts';
export {
  CACHE_PRICES,
  type CacheReport,
  type CacheUsage,
  PromptCache,
  type PromptCacheOptions,
} from './prompt-cache.ts';
export {
  firstText,
  lastText,
  type ReceivedRequest,
  type RequestBody,
  systemText,
  type ToolResultView,
  toolNames,
  toolResults,
} from './received-request.ts';
export { type RecordedSession, recordSession } from './record-session.ts';
export {
  type RecordedQuery,
  type ReplayedQuery,
  recordedQueries,
  replayQuery,
} from './replay.ts';
export {
  callTool,
  callTools,
  computed,
  cut,
  emptyBody,
  forever,
  httpError,
  message,
  overloaded,
  proxyError,
  rateLimited,
  redactedThinking,
  say,
  serverError,
  silent,
  text,
  thinking,
  tooLarge,
  tooLong,
  toolUse,
} from './replies.ts';
export type {
  ApiError,
  BlockPace,
  ComputedReply,
  Condition,
  CountReply,
  CutFault,
  CutReply,
  DripFault,
  EndFault,
  ErrorFault,
  ErrorReply,
  Fault,
  GarbageFault,
  Insert,
  MessageReply,
  Position,
  Purpose,
  RawBlock,
  RawReply,
  RedactedThinkingBlock,
  Reply,
  ReplyFunction,
  Script,
  ScriptedBlock,
  SilentReply,
  StallFault,
  Step,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  UsageFields,
  Use,
} from './script.ts';
export { PURPOSE_HEADER, PURPOSES } from './script.ts';
export type { ApiRecord, RequestViolation, ServerOptions } from './scripted-api.ts';
export { type ScriptedModel, type ScriptedModelOptions, scriptedModel } from './scripted-model.ts';
export {
  createScriptedServer,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts';
export { SentMemory, type SentMessage, type SentPlace } from './sent-memory.ts';
export type { BilledFilter, BilledUsage, LogEntry } from './server-log.ts';
export {
  checkRequest,
  type Finding,
  RULE_IDS,
  type RuleId,
  STRICT_RULES,
  type StrictContext,
  type StrictRule,
  type Violation,
  violationLine,
} from './strict.ts';
export { tokensOfBlock, tokensOfRequest, tokensOfText } from './tokens.ts';
