/** External servers for a host that speaks JSON lines: questions, status, a new connection. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox, streamFlags, userLine } from '../../tools/cli.ts';
import { everything, odd } from './kit.ts';

let box: CliBox | undefined;
afterEach(() => box?.close());

const ask = (request_id: string, request: Record<string, unknown>) => ({
  ...{ type: 'control_request', request_id, request },
});
type Fields = Record<string, unknown>;
const answers = (id: string) => (message: Fields) =>
  message.type === 'control_response' && (message.response as Fields).request_id === id;
const answerOf = (message: Fields) => (message.response as Fields).response;

const open = async (script: Parameters<typeof openCliBox>[0], servers: Fields) => {
  box = await openCliBox(script);
  const file = join(box.cwd, 'servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const cli = box.start([...streamFlags, '--mcp-config', file]);
  cli.read();
  cli.send(ask('init', { subtype: 'initialize' }));
  await cli.until(answers('init'));
  return cli;
};

it('a server asks the person through the host', async () => {
  const cli = await open(
    { replies: [callTool('mcp__srv__trigger-elicitation-request', {}), say('ok')] },
    { srv: everything },
  );
  cli.send(userLine('go'));
  const question = await cli.until(
    ({ request }) => (request as Fields | undefined)?.subtype === 'elicitation',
  );
  expect(question.request).toMatchObject({
    ...{ mcp_server_name: 'srv', mode: 'form', requested_schema: { type: 'object' } },
  });
  const response = { action: 'accept', content: { name: 'Ada' } };
  const request_id = String(question.request_id);
  cli.send({ type: 'control_response', response: { subtype: 'success', request_id, response } });
  const heard = await cli.until(({ type }) => type === 'user');
  expect(JSON.stringify(heard)).toContain('Name: Ada');
  cli.end();
  expect((await cli.ended).code).toBe(0);
});

it('status is what is so now; a server that is gone can be connected anew', async () => {
  const cli = await open(
    { replies: [callTool('mcp__srv__die', {}), say('ok')] },
    { srv: odd(), other: odd({ refuse: true }) },
  );
  cli.send(userLine('go'));
  await cli.until(({ type }) => type === 'result');
  cli.send(ask('s1', { subtype: 'mcp_status' }));
  expect(answerOf(await cli.until(answers('s1')))).toMatchObject({
    mcpServers: [
      { name: 'srv', status: 'failed', error: 'exit code 1' },
      { name: 'other', status: 'failed', error: 'it did not start: exit code 3', tools: [] },
    ],
  });
  cli.send(ask('r', { subtype: 'mcp_reconnect', serverName: 'srv' }));
  await cli.until(answers('r'));
  cli.send(ask('s2', { subtype: 'mcp_status' }));
  const status = answerOf(await cli.until(answers('s2'))) as { mcpServers: Fields[] };
  expect(status.mcpServers[0]).toMatchObject({ name: 'srv', status: 'connected' });
  cli.send(ask('x', { subtype: 'mcp_reconnect', serverName: 'nobody' }));
  expect((await cli.until(answers('x'))).response).toMatchObject({ subtype: 'error' });
  cli.end();
  expect((await cli.ended).code).toBe(0);
});
