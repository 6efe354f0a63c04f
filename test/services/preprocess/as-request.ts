/** The request that a history becomes, and what the API would say to it. */
import type { LogMessage } from '../../../services/messages.ts';
import { buildRequest } from '../../../services/model/request.ts';
import { checkRequest, violationLine } from '../../../src/testing/strict.ts';

export const asRequest = (messages: readonly LogMessage[]) =>
  buildRequest({
    messages,
    systemPrompt: [],
    thinking: { type: 'disabled' },
    tools: [],
    model: 'm',
    maxTokens: 1_000,
    querySource: 'main',
    signal: new AbortController().signal,
  }).body;

/** Broken rules, in words. */
export const violationsOf = (messages: readonly LogMessage[]): readonly string[] =>
  checkRequest(JSON.parse(JSON.stringify(asRequest(messages)))).map(violationLine);
