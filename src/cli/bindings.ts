/** What the host keeps on its side of the pipe, as callbacks: permission, hooks, tools. */
import type { HookOutput } from '../../services/hooks/types.ts';
import { isRecord } from '../../services/is-record.ts';
import type { InProcessMcpOptions, JsonRpcMessage } from '../../services/mcp/in-process.ts';
import type { CanUseTool } from '../../services/permissions/types.ts';
import { type ControlChannel, ControlError, type Fields } from './control.ts';
import type { CallHook, ServerManifest } from './initialize.ts';

/**
 * Asks the host whether a call may run. *Contract:* as `CanUseTool`: obeys the signal (the question
 * is taken back from the host), a throw counts as a denial.
 */
export const canUseToolOver =
  (channel: ControlChannel): CanUseTool =>
  async (toolName, input, options) => {
    const answer = await channel.request(
      {
        subtype: 'can_use_tool',
        tool_name: toolName,
        input,
        tool_use_id: options.toolUseID,
        ...(options.decisionReason !== undefined && { decision_reason: options.decisionReason }),
        ...(options.suggestions && { permission_suggestions: options.suggestions }),
      },
      options.signal,
    );
    return permissionAnswer(answer);
  };

function permissionAnswer(answer: Fields): Awaited<ReturnType<CanUseTool>> {
  const { behavior, updatedInput, updatedPermissions, message, interrupt } = answer;
  if (behavior === 'allow') {
    return {
      behavior,
      ...(isRecord(updatedInput) && { updatedInput }),
      ...(Array.isArray(updatedPermissions) && { updatedPermissions }),
    };
  }
  if (behavior === 'deny') {
    return {
      behavior,
      message: typeof message === 'string' ? message : 'The host denied this call.',
      ...(interrupt === true && { interrupt }),
    };
  }
  throw new ControlError('the host answered can_use_tool with neither allow nor deny');
}

/** Calls a hook on the host's side. Deadline and failure are judged by the hook service. */
export const callHookOver =
  (channel: ControlChannel): CallHook =>
  (callbackId, input, toolUseId, signal) =>
    channel.request(
      {
        subtype: 'hook_callback',
        callback_id: callbackId,
        input,
        ...(toolUseId !== undefined && { tool_use_id: toolUseId }),
      },
      signal,
    ) as Promise<HookOutput & Fields>;

/**
 * Hands JSON-RPC messages to a server that runs in the host, each as a `mcp_message` request.
 * @param manifest the server's own answers to `initialize` and the first `tools/list`, which the
 * host sent along: then the handshake needs no round trip.
 */
export function sendToHostServer(
  channel: ControlChannel,
  serverName: string,
  manifest: ServerManifest | undefined,
): InProcessMcpOptions['send'] {
  let known = manifest;
  return async (message) => {
    const early = known && answerOf(known, message);
    // Only the handshake is answered from it: a list that is asked for again has changed.
    if (message.method === 'tools/list') known = undefined;
    if (early) return early;
    const answer = await channel.request({
      subtype: 'mcp_message',
      server_name: serverName,
      message,
    });
    return answer.mcp_response as JsonRpcMessage;
  };
}

/** The answer that the manifest already holds. */
function answerOf(
  { initializeResult, toolsListResult }: ServerManifest,
  { id, method, params }: JsonRpcMessage,
): JsonRpcMessage | undefined {
  const reply = (result: unknown): JsonRpcMessage => ({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    result,
  });
  switch (method) {
    case 'initialize':
      return reply(initializeResult);
    case 'notifications/initialized':
      // The host has said so to its server itself.
      return reply({});
    case 'tools/list':
      return toolsListResult && params?.cursor === undefined ? reply(toolsListResult) : undefined;
    default:
      return undefined;
  }
}
