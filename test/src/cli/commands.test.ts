/** Commands and queued prompts over the pipe, as a host of the protocol sees them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { everything } from '../../services/mcp/kit.ts';
import {
  type CliBox,
  type CliProcess,
  openCliBox,
  streamFlags,
  userLine,
} from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

async function initialized(args: readonly string[]): Promise<[CliProcess, unknown]> {
  const cli = box.start([...streamFlags, ...args]);
  cli.read();
  const request = { subtype: 'initialize' };
  cli.send({ type: 'control_request', request_id: 'r1', request });
  const { response } = await cli.until(({ type }) => type === 'control_response');
  return [cli, response];
}

it('initialize lists them with what may be said behind them', async () => {
  box = await openCliBox({ replies: [] });
  const folder = path.join(box.cwd, '.claude', 'commands');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, 'fix.md'),
    '---\ndescription: fixes it\nargument-hint: <issue>\n---\nFix $1',
  );
  const [cli, response] = await initialized(['--setting-sources=project']);
  expect(response).toMatchObject({
    response: {
      commands: [
        { name: 'fix', description: 'fixes it', argumentHint: '<issue>' },
        { name: 'compact', argumentHint: '[wishes for the summary]' },
      ],
    },
  });
  cli.end();
  expect((await cli.ended).code).toBe(0);
});

it('a server that connects later: the host is told the new list', async () => {
  box = await openCliBox({ replies: [say('ok')] });
  const servers = JSON.stringify({ mcpServers: { srv: everything } });
  const [cli] = await initialized(['--mcp-config', servers]);
  cli.send(userLine('hi'));
  const changed = await cli.until(({ subtype }) => subtype === 'commands_changed');
  expect(changed.commands).toContainEqual(
    expect.objectContaining({ name: 'mcp__srv__args-prompt', argumentHint: '<city> [state]' }),
  );
  cli.end();
  expect((await cli.ended).code).toBe(0);
});

it('a synthetic prompt that no turn took is still synthetic in its own', async () => {
  box = await openCliBox({
    replies: [callTool('Bash', { command: 'sleep 0.3' }), say('done'), say('words'), say('meta')],
  });
  const cli = box.start([...streamFlags, '--replay-user-messages']);
  cli.read();
  cli.send(userLine('go'));
  await cli.until(({ type }) => type === 'assistant');
  cli.send({
    ...userLine('by itself', '00000000-0000-4000-8000-000000000001'),
    isSynthetic: true,
    priority: 'later',
  });
  cli.send({ ...userLine('a person', '00000000-0000-4000-8000-000000000002'), priority: 'later' });
  cli.end();
  const run = await cli.ended;
  const said = run.messages.filter((message) => message?.isReplay === true);
  expect(said.map((message) => [message?.uuid, message?.isSynthetic ?? false])).toMatchObject([
    [expect.anything(), false],
    ['00000000-0000-4000-8000-000000000001', true],
    ['00000000-0000-4000-8000-000000000002', false],
  ]);
});
