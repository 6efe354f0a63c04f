/** What the host keeps on its side of the pipe, as callbacks: permission, hooks, tools. */
import type { HookOutput } from '../../services/hooks/types.ts';
import type { CanUseTool } from '../../services/permissions/types.ts';
import { type ControlChannel, ControlError, type Fields, isFields } from './control.ts';
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
      ...(isFields(updatedInput) && { updatedInput }),
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

/** JSON-RPC 2.0, as far as it matters here. */
type JsonRpc = Fields & { readonly id?: string | number | null; readonly method?: string };

/**
 * A transport for an MCP client whose server runs in the host: each message is a `mcp_message`
 * control request. Shaped for the MCP SDK (`start`, `send`, `close`, the three callbacks).
 */
export interface HostMcpTransport {
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
  /** A message that the host's server sent by itself. */
  deliver(message: unknown): void;
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** JSON-RPC's code for a fault on the way; the message says which. */
const INTERNAL_ERROR = -32_603;

/**
 * @param manifest the server's own answers to `initialize` and the first `tools/list`, which the
 * host sent along: then the handshake needs no round trip.
 */
export function hostMcpTransport(
  channel: ControlChannel,
  serverName: string,
  manifest: ServerManifest | undefined,
): HostMcpTransport {
  let known = manifest;
  const pass = (message: JsonRpc) =>
    channel.request({ subtype: 'mcp_message', server_name: serverName, message });

  const transport: HostMcpTransport = {
    start: async () => {},
    async send(raw) {
      const message = raw as JsonRpc;
      const { id, method } = message;
      if (method === undefined || id === undefined || id === null) {
        // The host has said `initialized` to its server itself when it made the manifest.
        if (known && method === 'notifications/initialized') return;
        void pass(message).catch(() => {});
        return;
      }
      const early = known && answerOf(known, message);
      if (method === 'initialize' && early === undefined) known = undefined;
      if (method === 'tools/list') known = undefined;
      // Not awaited: `send` means handed over, the answer comes as a message.
      void (async () => {
        try {
          const response = early ?? (await pass(message))['mcp_response'];
          transport.deliver(isFields(response) ? response : errorOf(id, 'no mcp_response'));
        } catch (error) {
          transport.deliver(errorOf(id, (error as Error).message));
        }
      })();
    },
    async close() {
      transport.onclose?.();
    },
    deliver: (message) => transport.onmessage?.(message as never),
  };
  return transport;
}

const errorOf = (id: string | number, message: string): JsonRpc => ({
  jsonrpc: '2.0',
  id,
  error: { code: INTERNAL_ERROR, message },
});

/** The answer that the manifest already holds. Another protocol version needs a real handshake. */
function answerOf(manifest: ServerManifest, message: JsonRpc): JsonRpc | undefined {
  const reply = (result: Fields): JsonRpc => ({ jsonrpc: '2.0', id: message.id ?? null, result });
  const { initializeResult, toolsListResult } = manifest;
  if (message.method === 'initialize') {
    const wanted = isFields(message['params']) ? message['params']['protocolVersion'] : undefined;
    return initializeResult['protocolVersion'] === wanted ? reply(initializeResult) : undefined;
  }
  if (message.method === 'tools/list') {
    const { params } = message;
    const isFirstPage = !isFields(params) || params['cursor'] === undefined;
    return toolsListResult && isFirstPage ? reply(toolsListResult) : undefined;
  }
  return undefined;
}
