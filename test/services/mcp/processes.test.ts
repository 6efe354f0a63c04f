/** Whatever way a session ends, nothing of a server's processes outlives it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { callTool, say } from '../../../src/testing/index.ts';
import { type CliBox, isAlive, openCliBox } from '../../tools/cli.ts';
import { tell } from '../../tools/story.ts';
import { freshFolder, odd } from './kit.ts';

/**
 * As npx makes them: a shell that runs a shell that runs the server, which has a child. The server
 * ignores the end of its stdin and SIGTERM.
 */
function wrapped() {
  const folder = freshFolder();
  const pidFile = join(folder, 'pids');
  const { command, args } = odd({ ignoresEnd: true, child: true, pidFile });
  const words = [command, ...args].map((word) => `'${word}'`).join(' ');
  // A shell replaces itself by its last command, so there is one more after it.
  writeFileSync(join(folder, 'inner.sh'), `${words}\ntrue\n`);
  writeFileSync(join(folder, 'outer.sh'), `sh ${join(folder, 'inner.sh')}\ntrue\n`);
  return { pidFile, srv: { command: 'sh', args: [join(folder, 'outer.sh')] } };
}

const pidsIn = (file: string) => readFileSync(file, 'utf8').trim().split('\n').map(Number);
const alive = (file: string) => pidsIn(file).filter(isAlive);
const allGone = (file: string) => expect.poll(() => alive(file), { timeout: 4_000 }).toEqual([]);

let box: CliBox | undefined;
afterEach(() => box?.close());
const callThenStop = { replies: [callTool('mcp__srv__sleep', {}), say('ok')] };
const started = async (srv: unknown) => {
  box = await openCliBox(callThenStop);
  const flags = ['-p', 'go', '--output-format', 'stream-json', '--dangerously-skip-permissions'];
  const config = JSON.stringify({ mcpServers: { srv } });
  const cli = box.start([...flags, '--mcp-config', config, '--model', 'claude-sonnet-4-5']);
  cli.read();
  cli.end();
  await cli.until(({ type }) => type === 'assistant');
  return cli;
};

describe('MCP-07', () => {
  it('after a normal end', async () => {
    const { pidFile, srv } = wrapped();
    const told = await tell({
      script: { replies: [callTool('mcp__srv__echo', { a: 1 }), say('ok')] },
      options: { mcpServers: { srv } },
      after: () => expect(alive(pidFile)).toHaveLength(3),
    });
    expect(told.last).toMatchObject({ result: 'ok' });
    expect(alive(pidFile)).toEqual([]);
  });

  it('after a consumer that throws', async () => {
    const { pidFile, srv } = wrapped();
    const telling = tell({
      script: { replies: [callTool('mcp__srv__echo', {}), say('ok')] },
      options: { mcpServers: { srv } },
      during: (message) => {
        if (message.type === 'assistant') throw new Error('the consumer broke');
      },
    });
    await expect(telling).rejects.toThrow('the consumer broke');
    await allGone(pidFile);
  });

  it('after SIGTERM in the middle of a call; the process ends by itself', async () => {
    const { pidFile, srv } = wrapped();
    const cli = await started(srv);
    expect(alive(pidFile)).toHaveLength(3);
    cli.kill('SIGTERM');
    expect((await cli.ended).code).toBe(143);
    await allGone(pidFile);
  });

  it('after kill -9 a server that heeds the end of its stdin is gone, too', async () => {
    const pidFile = join(freshFolder(), 'pids');
    const cli = await started(odd({ pidFile }));
    expect(alive(pidFile)).toHaveLength(1);
    cli.kill('SIGKILL');
    await allGone(pidFile);
  });
});
