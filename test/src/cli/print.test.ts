import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  callTool,
  forever,
  httpError,
  overloaded,
  say,
  startScriptedServer,
} from '../../../src/testing/index.ts';
import { type CliBox, openCliBox } from '../../tools/cli.ts';

let box: CliBox;
afterEach(() => box?.close());

const model = '--model=claude-sonnet-5-5';
const formats = ['text', 'json', 'stream-json'] as const;

describe('-p', () => {
  it('text: the answer and nothing else on stdout', async () => {
    box = await openCliBox({ replies: [say('printed answer')] });
    const run = await box.run(['-p', 'say it', model]);
    expect(run).toMatchObject({ stdout: 'printed answer\n', stderr: '', code: 0 });
  });

  it('HEAD-11 a denied call fails only where that is wanted', async () => {
    box = await openCliBox({
      replies: [callTool('Bash', { command: 'touch p' }), say('could not'), say('fine')],
    });
    const denied = await box.run(['-p', 'do it', '--fail-on-denial', model]);
    expect(denied).toMatchObject({ stdout: 'could not\n', code: 1 });
    const other = await box.run(['-p', 'say it', '--fail-on-denial', model]);
    expect(other).toMatchObject({ stdout: 'fine\n', code: 0 });
  });

  it('json: one line, the result', async () => {
    box = await openCliBox({ replies: [say('printed answer')] });
    const run = await box.run(['-p', 'say it', '--output-format', 'json', model]);
    expect(run.code).toBe(0);
    expect(run.messages).toMatchObject([
      { type: 'result', subtype: 'success', is_error: false, result: 'printed answer' },
    ]);
  });

  it('--verbose, text: the turn on stderr, and still only the answer on stdout', async () => {
    box = await openCliBox({ replies: [callTool('Bash', { command: 'pwd' }), say('here')] });
    const run = await box.run(['-p', 'where', '--verbose', '--allowedTools=Bash', model]);
    expect(run).toMatchObject({ stdout: 'here\n', code: 0 });
    expect(run.stderr).toMatch(/Bash may run: [\s\S]*next_turn[\s\S]*completed/);
  });

  it('--verbose, json: one array of all messages, the result last', async () => {
    box = await openCliBox({ replies: [say('printed answer')] });
    const run = await box.run(['-p', 'say it', '--output-format=json', '--verbose', model]);
    const all = JSON.parse(run.stdout) as { type: string; subtype?: string }[];
    expect(all[0]).toMatchObject({ type: 'system', subtype: 'init' });
    expect(all.at(-1)).toMatchObject({ type: 'result', result: 'printed answer' });
  });

  it('--verbose, stream-json: nothing is added, for hosts pass it always', async () => {
    box = await openCliBox({ replies: [say('ok')] });
    const run = await box.run(['-p', 'say it', '--output-format=stream-json', '--verbose', model]);
    expect(run.stdout).not.toContain('"informational"');
  });

  it('a server of tools that cannot be reached is said on stderr', async () => {
    box = await openCliBox({ replies: [say('ok')] });
    const servers = JSON.stringify({ gone: { type: 'http', url: 'http://127.0.0.1:9/mcp' } });
    const run = await box.run(['-p', 'say it', '--mcp-config', servers, model]);
    expect(run).toMatchObject({ stdout: 'ok\n', code: 0 });
    expect(run.stderr).toMatch(/MCP server gone cannot be used: /);
  });

  it('a folder of --add-dir that there is not is said on stderr', async () => {
    box = await openCliBox({ replies: [say('ok')] });
    const run = await box.run(['-p', 'say it', '--add-dir', 'nowhere', model]);
    expect(run).toMatchObject({ stdout: 'ok\n', code: 0 });
    expect(run.stderr).toMatch(/additional folder \S+nowhere does not exist/);
  });

  it('stream-json: every message, the result last', async () => {
    box = await openCliBox({ replies: [say('printed answer')] });
    const run = await box.run(['-p', 'say it', '--output-format=stream-json', '--verbose', model]);
    expect(run.messages[0]).toMatchObject({ type: 'system', subtype: 'init' });
    expect(run.messages.at(-1)).toMatchObject({ type: 'result', result: 'printed answer' });
    expect(run.results).toHaveLength(1);
  });

  it('adds what is piped in to the prompt', async () => {
    box = await openCliBox({ replies: [say('ok')] });
    await box.run(['-p', 'count the words of this', model], 'one two three');
    const said = JSON.stringify(box.server.requests[0]?.body.messages);
    expect(said).toContain('count the words of this\\none two three');
  });

  it('takes the whole prompt from the pipe', async () => {
    box = await openCliBox({ replies: [say('ok')] });
    const run = await box.run(['-p', model], 'from the pipe');
    expect(run.code).toBe(0);
    expect(JSON.stringify(box.server.requests[0]?.body.messages)).toContain('from the pipe');
  });
});

describe('HEAD-01 API failure must not look like success', () => {
  const failures = {
    'http 401': { replies: forever(httpError(401, 'authentication_error', 'invalid x-api-key')) },
    'http 400': { replies: forever(httpError(400, 'invalid_request_error', 'nonsense')) },
    '529 until exhausted': { replies: forever(overloaded()) },
  };
  const env = { ESCAPEMENT_MAX_RETRIES: '2' };

  it.each(Object.entries(failures))('%s', async (_name, script) => {
    box = await openCliBox(script);
    await Promise.all(formats.map((format) => checkFailure(format, env)));
  });

  it('connection refused', async () => {
    box = await openCliBox({ replies: [] });
    // A port that was free a moment ago: nobody listens there.
    const gone = await startScriptedServer({ replies: [] });
    const refused = { ...env, ANTHROPIC_BASE_URL: gone.url };
    await gone.close();
    await Promise.all(formats.map((format) => checkFailure(format, refused)));
  });

  async function checkFailure(format: (typeof formats)[number], more: NodeJS.ProcessEnv) {
    const run = await box.run(['-p', 'go', '--output-format', format, model], '', more);
    expect(run.code).toBe(1);
    if (format === 'text') {
      expect(run.stdout).toBe('');
      expect(run.stderr.trim()).not.toBe('');
      return;
    }
    expect(run.results).toHaveLength(1);
    expect(run.messages.at(-1)).toMatchObject({
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      result: '',
    });
  }
});

describe('bad input: one line with cause and remedy, exit 2, nothing sent, nothing written', () => {
  const megabytes = (count: number) => 'x'.repeat(count * 1_000_000);
  const noKey = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' };
  it.each<[string, string[], string, NodeJS.ProcessEnv, RegExp]>([
    ['unknown flag', ['-p', 'x', '--nonsense'], '', {}, /--nonsense.*--help/],
    ['unreadable settings', ['-p', 'x', '--settings', 'nowhere.json'], '', {}, /nowhere\.json/],
    ['broken settings', ['-p', 'x', '--settings', '{"a":'], '', {}, /settings.*JSON/],
    ['broken settings file', ['-p', 'x', '--settings', 'broken.json'], '', {}, /broken\.json:2/],
    [
      'no key and no URL',
      ['-p', 'x'],
      '',
      noKey,
      /ANTHROPIC_API_KEY.*ANTHROPIC_BASE_URL.*npm start/,
    ],
    ['unknown model', ['-p', 'x', '--model', 'no such model'], '', {}, /no such model/],
    ['prompt of 0 MB', ['-p', ''], '', {}, /no prompt/],
    ['only blanks', ['-p'], ' \n ', {}, /no prompt/],
    ['prompt of 10 MB', ['-p'], megabytes(10), {}, /prompt is larger than/],
    ['missing mcp file', ['-p', 'x', '--mcp-config', 'gone.json'], '', {}, /gone\.json.*ENOENT/],
    ['broken mcp JSON', ['-p', 'x', '--mcp-config', '{"mcpServers":'], '', {}, /mcp-config.*JSON/],
    ['arguments of a command', ['doctor', 'x'], '', {}, /doctor takes no arguments/],
    ['resume', ['-p', 'x', '--resume', 'some-session'], '', {}, /resume/i],
  ])('%s', async (_name, args, input, env, expected) => {
    box = await openCliBox({ replies: [say('never')] });
    writeFileSync(path.join(box.cwd, 'broken.json'), '{\n  "permissions": {,}\n}');
    const run = await box.run(args, input, env);
    expect(run.stderr).toMatch(expected);
    expect(run.stderr.trim().split('\n')).toHaveLength(1);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(box.server.requests).toHaveLength(0);
    const { readdirSync } = await import('node:fs');
    expect(readdirSync(box.home)).toEqual([]);
  });
});

it('--version and --help end with 0 and say what they are asked', async () => {
  box = await openCliBox({ replies: [] });
  const [version, help] = await Promise.all([box.run(['--version']), box.run(['--help'])]);
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+ \(Esc/) });
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('--output-format') });
});
