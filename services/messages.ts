/**
 * What lies in the message log: the chart's reference to a message plus what it says. Own messages
 * become messages of the API in one place only (`model/request.ts`), and messages of the host in
 * one place only (`src/wire.ts`).
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { MessageRef } from '../machines/state.ts';

/** A block as the API takes it back. Unknown kinds pass through untouched. */
export type ContentBlock = Anthropic.ContentBlockParam;
export type ToolUseBlock = Anthropic.ToolUseBlockParam;
export type ToolResultBlock = Anthropic.ToolResultBlockParam;
/** What a tool may answer with. */
export type ToolResultContent = Exclude<ToolResultBlock['content'], string | undefined>[number];

/** Where a message comes from; the model does not see it, the host and the transcript do. */
export type Origin =
  | 'prompt' //      a person, or the host for one
  | 'model'
  | 'tool'
  | 'nudge' //       the chart's own words: go on, try again
  | 'hook'
  | 'attachment' //  changed files, reminders, memory
  | 'summary' //     stands for what a compaction took out
  | 'repair'; //     an answer that legalize had to invent

/** A tool call whose input could not be read. It is never run; its input in history is `{}`. */
export interface Unreadable {
  /** What the model sent, as far as it came. */
  readonly raw: string;
  /** `cut`: by the output limit. `unparsable`: whole, but no JSON object. */
  readonly cause: 'cut' | 'unparsable';
  readonly detail: string;
}

/** One entry of the message log. Immutable once it is in the log. */
export interface LogMessage extends MessageRef {
  readonly origin: Origin;
  /** ISO 8601. */
  readonly timestamp: string;
  /** One block for what the model says; any number for what a user message says. */
  readonly content: readonly ContentBlock[];
  /** The API message that a block belongs to: blocks with the same id are one message again. */
  readonly apiId?: string;
  /** The model that said it: signed thinking goes back to no other. */
  readonly model?: string;
  /** Not said by a person: no title, no prompt, not shown as one. */
  readonly isMeta?: boolean;
  readonly unreadable?: Unreadable;
  /** Structured twin of a tool result, for the host only. */
  readonly toolUseResult?: unknown;
  /** Set on all messages of a subagent: the call that it runs for. */
  readonly parentToolUseId?: string;
}
