/**
 * `npm start`: one turn as a person sees it. Without a key the model is scripted and works in a
 * scratch folder; with one, the prompt of the command line runs in this folder.
 */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import pc from 'picocolors';
import type { CanUseTool } from '../../services/permissions/types.ts';
import type { Options } from '../options.ts';
import { UsageError } from '../usage-error.ts';
import { type CliContext, closeEngine, exitCodes } from './context.ts';
import { visible } from './printable.ts';
import { watchSignals } from './signals.ts';
import { emptyView, isColorWanted, showMessage } from './view.ts';
import { watchRun } from './watch-run.ts';

type Environment = CliContext['environment'];

const help = `Usage: escapement demo ["prompt"]

One turn as a person sees it. Without ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL
the model is scripted: a failing test is fixed in a scratch folder, with real tools and files. With
one of them the prompt is worked on in this folder. The inspector's address is on stderr.
`;

/** This executable, as a person can call it again from anywhere. */
const commandOf = (): string =>
  process.argv[1] ? `node ${path.resolve(process.argv[1])}` : 'escapement';

/** @param argv the words of the prompt. @returns the exit code. */
export async function runDemo(argv: readonly string[], context: CliContext): Promise<number> {
  const { environment } = context;
  if (argv.includes('--help') || argv.includes('-h')) {
    await context.out.writeText(help);
    return exitCodes.good;
  }
  const prompt = argv.join(' ').trim();
  const keys = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'] as const;
  const hasModel = keys.some((name) => environment[name]);
  if (hasModel && prompt === '') {
    const found = keys.find((name) => environment[name]);
    throw new UsageError(
      `${found} is set, so a real model would work in this folder: say what, npm start -- "your prompt" (unset it for the scripted demo)`,
    );
  }
  if (!hasModel && prompt !== '') {
    context.warn(
      'no ANTHROPIC_API_KEY and no ANTHROPIC_BASE_URL: the prompt is not used, the model is scripted',
    );
  }
  return hasModel ? runReal(prompt, context) : runScripted(context);
}

async function runReal(prompt: string, context: CliContext): Promise<number> {
  const options: Options = {
    cwd: context.cwd,
    includePartialMessages: true,
    canUseTool: askPerson(context),
  };
  return runTurn(prompt, options, context.environment, context);
}

/** The scripted server stands in for the model; engine, wire, tools and files are real. */
async function runScripted(context: CliContext): Promise<number> {
  const [{ startScriptedServer }, { demoPrompt, demoScript }, { writeDemoProject }] =
    await Promise.all([
      import('../testing/scripted-server.ts'),
      import('../testing/demo-script.ts'),
      import('../testing/demo-project.ts'),
    ]);
  const scratch = await mkdtemp(path.join(tmpdir(), 'escapement-demo-'));
  const cwd = path.join(scratch, 'project');
  await mkdir(cwd);
  await writeDemoProject(cwd);
  const server = await startScriptedServer(demoScript(cwd));
  const colors = pc.createColors(isColored(context.environment));
  await context.out.writeText(
    [
      colors.bold('Escapement demo'),
      'No ANTHROPIC_API_KEY and no ANTHROPIC_BASE_URL: the model is SCRIPTED, its answers are written',
      'in advance and come from a server on 127.0.0.1. The engine, the requests, the tools and the',
      `files are real. Folder: ${cwd}`,
      '',
      `${colors.bold('>')} ${demoPrompt}`,
      '',
    ].join('\n'),
  );
  try {
    const options: Options = {
      cwd,
      includePartialMessages: true,
      settingSources: [],
      permissionMode: 'acceptEdits',
      // The scratch folder is ours, and the commands are written in the script.
      allowedTools: ['Bash'],
    };
    const environment = {
      ...context.environment,
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'scripted',
      ESCAPEMENT_HOME: path.join(scratch, 'home'),
    };
    const code = await runTurn(demoPrompt, options, environment, context);
    await context.out.writeText(
      `\nThe project is in ${cwd}, the transcript below ${path.join(scratch, 'home')}.\n` +
        'Look at this session, step by step:\n' +
        `  cd ${cwd} && ESCAPEMENT_HOME=${path.join(scratch, 'home')} ${commandOf()} inspect\n` +
        'With a key: ANTHROPIC_API_KEY=… npm start -- "what to do" works in your folder.\n',
    );
    return code;
  } finally {
    await server.close();
  }
}

async function runTurn(
  prompt: string,
  options: Options,
  environment: Environment,
  context: CliContext,
): Promise<number> {
  const { out } = context;
  const { engineFromOptions } = await import('../options.ts');
  const engine = await engineFromOptions(options, environment);
  const inspector = await watchRun(
    { port: 0, hold: false, send: false },
    { ...context, environment },
  );
  inspector.engine(engine);
  const watch = watchSignals(() => engine.interrupt());
  out.gone.addEventListener('abort', () => engine.interrupt());
  const viewOptions = { isColored: isColored(environment) };
  let state = emptyView;
  let isError = true;
  try {
    for await (const message of engine.submitMessage(prompt)) {
      const [next, text] = showMessage(state, message, viewOptions);
      state = next;
      if (text !== '') await out.writeText(text);
      if (message.type === 'result') isError = message.is_error;
    }
    return watch.exitCode ?? (isError ? exitCodes.failed : exitCodes.good);
  } finally {
    await closeEngine(engine, context);
    await inspector.close();
    watch.stop();
  }
}

const isColored = (environment: Environment): boolean =>
  isColorWanted(environment, process.stdout.isTTY === true);

/** One line, one answer. Nobody there: denied, and the model is told so. */
function askPerson({ stdinIsTTY }: CliContext): CanUseTool {
  return async (toolName, input, { signal }) => {
    if (!stdinIsTTY) return { behavior: 'deny', message: 'Nobody is there to allow this call.' };
    const { createInterface } = await import('node:readline/promises');
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    try {
      const question = `\n${visible(toolName)} ${visible(JSON.stringify(input))}\nAllow it? [y/N] `;
      const answer = await terminal.question(question, { signal });
      return /^y(es)?$/i.test(answer.trim())
        ? { behavior: 'allow' }
        : { behavior: 'deny', message: 'The person said no to this call.' };
    } finally {
      terminal.close();
    }
  };
}
