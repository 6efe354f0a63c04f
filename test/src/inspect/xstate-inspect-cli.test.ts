/** A run of the CLI, looked at by a tool for @xstate/inspect: the bridge is found where it is installed. */
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { receiverAddress } from '../../../src/inspect/xstate-inspect/src/index.ts';
import { say, silent } from '../../../src/testing/index.ts';
import { type CliBox, type CliProcess, openCliBox } from '../../tools/cli.ts';
import { Onlooker, type Registered } from './v4-kit.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const bridge = path.join(root, 'src', 'inspect', 'xstate-inspect');
const timeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

beforeAll(() => {
  const built = timeOf(path.join(bridge, 'dist', 'index.mjs'));
  if (built > timeOf(path.join(bridge, 'src', 'bridge.ts'))) return;
  const tsdown = path.join(root, 'node_modules', 'tsdown', 'dist', 'run.mjs');
  execFileSync(process.execPath, [tsdown], { cwd: bridge, stdio: 'pipe' });
}, 60_000);

let box: CliBox | undefined;
afterEach(() => box?.close());

/** The first line on stderr that holds it. */
const lineWith = (run: CliProcess, words: string) =>
  new Promise<string>((resolve, reject) => {
    let text = '';
    run.child.stderr?.on('data', (part: string) => {
      text += part;
      const line = text
        .split('\n')
        .find((one, i, all) => i < all.length - 1 && one.includes(words));
      if (line !== undefined) resolve(line);
    });
    void run.ended.then(() => reject(new Error(`ended without "${words}":\n${text}`)));
  });
const flags = ['-p', 'hi', '--setting-sources='];

describe('escapement --inspect', () => {
  it('is seen live by the receiver of @xstate/inspect, and refuses pages of others', async () => {
    box = await openCliBox({ replies: [silent()] });
    const run = box.start([...flags, '--inspect']);
    const [url] = /http:\S+/.exec(await lineWith(run, 'inspector: ')) as RegExpExecArray;
    await box.server.until((entry) => entry.type === 'reply' && entry.verdict === 'silence');
    const onlooker = new Onlooker(url);
    const query = await onlooker.until(
      (e) => e.type === 'service.register' && e.machine.id === 'query',
    );
    expect((query as Registered).state.value).toEqual({ sampling: 'requesting' });
    const status = await new Promise((resolve) => {
      const socket = new WebSocket(`ws://${receiverAddress(url)}`, {
        origin: 'https://stately.ai',
      });
      socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode));
      socket.on('error', () => {});
    });
    expect(status).toBe(403);
    run.kill('SIGINT');
    await onlooker.until((e) => e.type === 'service.state' && e.state.value === 'terminal');
  });
  it('--inspect-origin lets the pages of one site look on, and says where', async () => {
    box = await openCliBox({ replies: [silent()] });
    const run = box.start([...flags, '--inspect', '--inspect-origin', 'https://stately.ai']);
    const line = await lineWith(run, 'for pages of https://stately.ai that speak @xstate/inspect');
    const [place] = /ws:\S+/.exec(line) as RegExpExecArray;
    const isOpen = await new Promise((resolve) => {
      const socket = new WebSocket(place, { origin: 'https://stately.ai' });
      socket.on('open', () => {
        socket.terminate();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
    expect(isOpen).toBe(true);
    run.kill('SIGINT');
    await run.ended;
  });
  it.each([
    [['--inspect', '--inspect-origin', 'stately.ai'], 'An origin is needed'],
    [['--inspect-origin', 'https://stately.ai'], 'need --inspect'],
  ])('%j is refused', async (more, why) => {
    box = await openCliBox({ replies: [say('never asked')] });
    const run = await box.run([...flags, ...more]);
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining(why)]);
  });
});
