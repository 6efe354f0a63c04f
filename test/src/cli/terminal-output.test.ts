import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { runPrint } from '../../../src/cli/print.ts';
import { createLineWriter } from '../../../src/cli/stdout.ts';
import { forever, httpError, say } from '../../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

/** Clears the screen, and sets the title of the window. */
const OBEYED = 'a\u001b[2Jb\u001b]0;c\u0007d';

/** What `-p` writes for an answer, to a stream that is a terminal or is none. */
async function printed(isTTY: boolean): Promise<string> {
  box = await openCliBox({ replies: [say(OBEYED)] });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const chunks: Buffer[] = [];
  stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await runPrint(
    { prompt: 'p', outputFormat: 'text', options: { persistSession: false }, mcpServers: {} },
    {
      cwd: box.cwd,
      environment: box.env,
      stdin: new PassThrough(),
      stdinIsTTY: true,
      out: createLineWriter(stdout),
      warn: (text) => expect(text).toBe(''),
      debug: () => {},
    },
  );
  return Buffer.concat(chunks).toString();
}

it('-p: a terminal gets nothing that it would obey, a pipe gets the answer as it is', async () => {
  expect(await printed(true)).toBe('a[2Jb]0;cd\n');
  await box.close();
  expect(await printed(false)).toBe(`${OBEYED}\n`);
});

it('-p: what an API says of an error is never obeyed', async () => {
  box = await openCliBox({ replies: forever(httpError(400, 'invalid_request_error', OBEYED)) });
  const run = await box.run(['-p', 'p']);
  expect(run.code).toBe(1);
  expect(run.stderr).toContain('a[2Jb]0;cd');
  expect(run.stderr).not.toContain('\u001b');
});
