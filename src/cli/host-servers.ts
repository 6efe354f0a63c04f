/** Tools that live in the host's process: connected before the first turn, so that it has them. */

import type { ElicitationAnswer, HandleElicitation } from '../../services/mcp/elicitation.ts';
import type { InProcessMcp, JsonRpcMessage } from '../../services/mcp/in-process.ts';
import type { MCPServerConnection } from '../config.ts';
import type { Options } from '../options.ts';
import { VERSION } from '../version.ts';
import { sendToHostServer } from './bindings.ts';
import { type ControlBody, type ControlChannel, ControlError, type Fields } from './control.ts';
import type { ServerManifest } from './initialize.ts';

/** The in-process servers of one host. */
export class HostServers {
  readonly #channel: ControlChannel;
  readonly #warn: (text: string) => void;
  readonly #servers = new Map<string, InProcessMcp>();

  constructor(channel: ControlChannel, warn: (text: string) => void) {
    this.#channel = channel;
    this.#warn = warn;
  }

  /** Connects all of them side by side. One that fails is there as failed and takes nothing along. */
  async connect(
    servers: ReadonlyMap<string, ServerManifest | undefined>,
    toolMs: number | undefined,
  ): Promise<readonly MCPServerConnection[]> {
    if (servers.size === 0) return [];
    const [{ createInProcessMcp }, { Elicitation }] = await Promise.all([
      import('../../services/mcp/in-process.ts'),
      import('../../services/mcp/elicitation.ts'),
    ]);
    const ask = elicitOver(this.#channel);
    const put: HandleElicitation = (question, signal) => ask(question, { signal });
    const connecting = [...servers].map(async ([serverName, manifest]) => {
      const server = await createInProcessMcp({
        serverName,
        send: sendToHostServer(this.#channel, serverName, manifest),
        clientVersion: VERSION,
        onWarning: this.#warn,
        elicitation: new Elicitation(serverName, put),
        ...(toolMs !== undefined && { toolMs }),
      });
      this.#servers.set(serverName, server);
      return connectionOf(server);
    });
    return Promise.all(connecting);
  }

  /** `mcp_message` of the host: its server speaks first, for example that its tools have changed. */
  async onMessage(body: ControlBody): Promise<Fields> {
    const name = String(body.server_name);
    const server = this.#servers.get(name);
    if (!server) throw new ControlError(`unknown MCP server: ${name}`);
    const message = body.message as JsonRpcMessage;
    const answering = server.receive(message).then((answer) => {
      if (!answer) return;
      const reply = { subtype: 'mcp_message', server_name: name, message: answer };
      void this.#channel.request(reply).catch(() => {});
    });
    // A question goes to a person: the receipt does not wait for the answer.
    if (message.id === undefined) await answering;
    return {};
  }
}

/**
 * A server asks the person something: the host puts the question, as its `elicitation` callback
 * answers it. A host that knows no such request answers with an error, which counts as declined.
 */
export const elicitOver =
  (channel: ControlChannel): NonNullable<Options['onElicitation']> =>
  async (question, { signal }) => {
    const { serverName, message, mode, url, elicitationId, requestedSchema } = question;
    const body = {
      subtype: 'elicitation',
      mcp_server_name: serverName,
      message,
      ...(mode !== undefined && { mode }),
      ...(url !== undefined && { url }),
      ...(elicitationId !== undefined && { elicitation_id: elicitationId }),
      ...(requestedSchema !== undefined && { requested_schema: requestedSchema }),
    };
    // Its shape is checked where it is used.
    return (await channel.request(body, signal)) as unknown as ElicitationAnswer;
  };

/** The tools are read at each use: the server may change its list. */
const connectionOf = (server: InProcessMcp): MCPServerConnection => ({
  name: server.serverName,
  status: server.status,
  ...(server.failure !== undefined && { error: server.failure }),
  get tools() {
    return server.tools();
  },
  // It ends with the host's process, not with ours; what it has asked ends here.
  close: async () => server.close(),
});
