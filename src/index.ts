/** The public face of `escapement`. */

export type { QueryLimits } from '../machines/limits.ts';
export type { ContinueReason, TerminalReason } from '../machines/reasons.ts';
export type { QueryInput, QueryResult, QueryState } from '../machines/state.ts';
export type { HookCallbackMatcher } from '../services/hooks/callbacks.ts';
export type { HookCallback } from '../services/hooks/registration.ts';
export type { HookEvent, HookInput, HookOutput } from '../services/hooks/types.ts';
export type { RewindFilesResult } from '../services/journal/checkpoints.ts';
export { FileJournalStore } from '../services/journal/file-store.ts';
export { MemoryJournalStore } from '../services/journal/memory-store.ts';
export type {
  JournalRecord,
  JournalStore,
  JournalWriter,
  StoredRecord,
  StoredSession,
} from '../services/journal/store.ts';
export { SessionInUseError } from '../services/journal/store.ts';
export { MessageLog } from '../services/message-log.ts';
export type { LogMessage } from '../services/messages.ts';
export type { ModelClient, Usage } from '../services/model/types.ts';
export type { ModelUsage } from '../services/model/usage.ts';
export type { CanUseTool, PermissionMode, RuleSet } from '../services/permissions/types.ts';
export type { Tool, ToolContext, ToolInput, ToolOutput } from '../services/tools/tool.ts';
export {
  type AgentDefinition,
  type AppState,
  type Command,
  type Gates,
  type MCPServerConnection,
  type OnUnknownOutcome,
  type OrphanedPermission,
  type Prompt,
  type QueryConfig,
  type QueryEngineConfig,
  type SubmitOptions,
  snapshotQueryConfig,
  type UnknownCall,
} from './config.ts';
export { productionDeps, type QueryDeps } from './deps.ts';
export type {
  EngineEvent,
  EngineObserver,
  ObservedAnswer,
  ObservedQuery,
  ObservedRequest,
} from './engine-events.ts';
export type { InterruptedTurn } from './left-behind.ts';
export { configFromOptions, engineFromOptions, type Options } from './options.ts';
export { defineTool, type OwnTool } from './own-tool.ts';
export type { ParameterSchema } from './parameter-schema.ts';
export { ask, type Query, query, type SDKUserPrompt } from './query.ts';
export { QueryEngine } from './query-engine.ts';
export type { HeldQuery, QueryHold } from './query-hold.ts';
export type { RewindOptions } from './rewind.ts';
export { type QueryParams, runQuery } from './run-query.ts';
export { createSdkMcpServer, type SdkTool, type SdkToolResult, tool } from './sdk-server.ts';
export {
  deleteSession,
  exportSession,
  getSessionInfo,
  listSessions,
  renameSession,
  type SessionDetails,
  type SessionInfo,
  type SessionsPlace,
} from './sessions.ts';
export { UsageError } from './usage-error.ts';
export { VERSION } from './version.ts';
export type {
  ResultReason,
  SDKAssistantMessage,
  SDKMessage,
  SDKPartialAssistantMessage,
  SDKResultMessage,
  SDKSystemMessage,
  SDKTombstone,
  SDKToolProgressMessage,
  SDKUserMessage,
} from './wire.ts';
