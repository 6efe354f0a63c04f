/** What the model service is asked, and what it says. */
import type Anthropic from '@anthropic-ai/sdk';
import type { Failure, QuerySource, StopReason } from '../../machines/state.ts';
import type { LogMessage } from '../messages.ts';
import type { Tool } from '../tools/tool.ts';
import type { AppliedEdit, ContextEdit } from './context-editing.ts';

/** Anything that can make a message: the SDK's client, Bedrock's, Vertex's, a gateway's, a fake. */
export interface ModelClient {
  /** `false`: knows no betas, so that it is never asked to edit contexts. */
  readonly editsContexts?: boolean;
  readonly messages: {
    create(
      body: Anthropic.MessageCreateParamsStreaming,
      options: { signal: AbortSignal; headers: Record<string, string> },
    ): PromiseLike<AsyncIterable<Anthropic.RawMessageStreamEvent>>;
    countTokens?(
      body: Anthropic.MessageCountTokensParams,
      options: { signal: AbortSignal },
    ): PromiseLike<{ input_tokens: number }>;
  };
}

/** Tokens as the API bills them; each field is the last number seen, never a sum of deltas. */
export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
}

export type ThinkingConfig =
  | { readonly type: 'adaptive' }
  | { readonly type: 'enabled'; readonly budgetTokens: number }
  | { readonly type: 'disabled' };

/** One request. The messages are history as it is; they become the API's in `request.ts`. */
export interface ModelRequest {
  readonly messages: readonly LogMessage[];
  /** Where the previous request of this query ended: gets a cache breakpoint too. */
  readonly previousCount?: number;
  /** Where what was rewritten last ends: the next rewrite begins behind it. Gets one, too. */
  readonly anchorCount?: number;
  readonly systemPrompt: readonly string[];
  /** Goes in front of the first user message. */
  readonly userContext?: string;
  readonly thinking: ThinkingConfig;
  readonly tools: readonly Tool[];
  readonly model: string;
  readonly maxTokens: number;
  readonly querySource: QuerySource;
  readonly taskBudget?: { readonly total: number; readonly remaining?: number };
  /** Dollars that the prompt costs, as far as is known; absent: the worst is taken. */
  readonly promptUsd?: number;
  /** Thinking goes to every model, whoever has signed it. Default: to its own. */
  readonly keepsSignatures?: boolean;
  /** The API may leave old results out of the prompt. */
  readonly contextEdit?: ContextEdit;
  readonly signal: AbortSignal;
}

/** In the order of the stream; ends with exactly one `ended` or `failed`. Never throws. */
export type ModelEvent =
  /** Nothing is sent yet, and the model is not to blame: others have put aside what it would cost. */
  | { readonly type: 'waiting'; readonly detail: string }
  | { readonly type: 'opened' }
  /** For hosts that want deltas. `messageUuid` is the uuid that the block's message will have. */
  | {
      readonly type: 'raw';
      readonly event: Anthropic.RawMessageStreamEvent;
      readonly messageUuid: string | undefined;
    }
  /** A block that began and will never end: what was shown of it is taken back. */
  | { readonly type: 'dropped'; readonly messageUuid: string }
  /** A finished block that is no tool call. Already a log message, not yet in the log. */
  | { readonly type: 'block'; readonly message: LogMessage }
  /** A finished call; `message.unreadable` when its input cannot be read. Ids are unique. */
  | {
      readonly type: 'toolUse';
      readonly message: LogMessage;
      readonly block: Anthropic.ToolUseBlockParam;
    }
  | { readonly type: 'warning'; readonly text: string }
  | {
      readonly type: 'ended';
      readonly stopReason: StopReason;
      readonly usage: Usage;
      /** What the API has left out of the prompt. Absent: it says nothing of that. */
      readonly edited?: AppliedEdit;
      readonly stopDetails?: unknown;
    }
  /** `usage` is what had been reported when it broke. */
  | {
      readonly type: 'failed';
      readonly failure: Failure;
      readonly usage: Usage | undefined;
      /** By the request's own signal: nobody waits for a retry. */
      readonly isAborted?: true;
    };

export type CallModel = (request: ModelRequest) => AsyncGenerator<ModelEvent, void, void>;
