/** Starts the interactive mode on the terminal of this process, and gives the terminal back. */
import path from 'node:path';
import process from 'node:process';
import pc from 'picocolors';
import type { Options } from '../../options.ts';
import { type CliContext, exitCodes } from '../context.ts';
import { type EndSignal, LEAVE_MS, signalExitCodes } from '../signals.ts';
import { isColorWanted } from '../view.ts';
import { Asker } from './asker.ts';
import { Elicitor } from './elicitor.ts';
import { PromptHistory } from './history.ts';
import { KeyInput, LineInput } from './input.ts';
import { pageOpener } from './open-page.ts';
import { QuestionLine } from './question-line.ts';
import { Repl } from './repl.ts';
import { PlainScreen, TerminalScreen } from './screen.ts';
import { ReplSession } from './session.ts';

/** Ctrl-C is a key here. */
const ends = ['SIGTERM', 'SIGHUP', 'SIGQUIT'] as const satisfies readonly EndSignal[];

/** Time does not pass for a process that sleeps, so this says that it does not. */
const AWAKE_AFTER_MS = 20;

export interface ReplRun {
  /** The first prompt, from the command line. */
  readonly prompt: string | undefined;
  readonly options: Options;
  readonly mcpServers: Readonly<Record<string, unknown>>;
}

/**
 * Until the person leaves. @returns the exit code.
 * @throws UsageError before the terminal is touched.
 */
export async function runRepl(
  { prompt, options, mcpServers }: ReplRun,
  context: CliContext,
): Promise<number> {
  const { environment } = context;
  const isPlain = environment.TERM === 'dumb' || environment.TERM === undefined;
  const isColored = isColorWanted(environment, true) && !isPlain;
  const questions: QuestionLine = new QuestionLine(() => repl.refresh());
  const place = {
    questions,
    look: () => ({
      colors: pc.createColors(isColored),
      columns: screen.columns,
      cwd: session.config.cwd,
    }),
    print: (line: string) => repl.print(line),
  };
  const asker = new Asker({ ...place, config: () => session.config });
  const openPage = pageOpener(environment);
  const elicitor = new Elicitor({ ...place, ...(openPage ? { openPage } : {}) });
  const session = await ReplSession.open(
    {
      ...options,
      includePartialMessages: true,
      canUseTool: asker.canUseTool,
      onElicitation: elicitor.onElicitation,
      ...(Object.keys(mcpServers).length > 0 && { mcpServers }),
    },
    environment,
    context.onEngine,
  );
  const warnings: string[] = [];
  const historyFile = path.join(session.config.home, 'history');
  const history = new PromptHistory(historyFile, (text) => warnings.push(text));
  await history.load();

  const screen = isPlain ? new PlainScreen(process.stdout) : terminalScreen(isColored);
  let isAsleep = false;
  const wake = () => {
    // Put to sleep by somebody else: what was drawn is not where it was.
    if (!isAsleep) screen.suspend();
    isAsleep = false;
    input.start();
    screen.resume();
  };
  const sleep = () => {
    input.stop();
    screen.suspend();
    isAsleep = true;
    // The whole group, as the terminal's driver would: a shell waits for npm, not for us.
    process.kill(0, 'SIGTSTP');
    // Where no shell could wake it up (an orphaned group) the kernel does not put it to sleep.
    setTimeout(() => isAsleep && wake(), AWAKE_AFTER_MS);
  };
  const isVerbose = options.verbose === true;
  const view = { isColored, isInteractive: true, isVerbose };
  const repl: Repl = new Repl({ session, questions, asker, screen, history, view, isPlain, sleep });
  const input = isPlain ? new LineInput(process.stdin, repl) : new KeyInput(process.stdin, repl);
  const giveBack = () => {
    screen.close();
    input.stop();
  };
  const unwatch = watchProcess(repl, wake);
  // Also for exits that nobody planned: a terminal in raw mode is of no use to its owner.
  process.on('exit', giveBack);
  context.out.gone.addEventListener('abort', () => repl.leave(exitCodes.failed));
  try {
    input.start();
    for (const warning of warnings) repl.print(warning);
    return await repl.run(prompt);
  } finally {
    giveBack();
    await session.engine.close();
    await history.flush();
    unwatch();
  }
}

/** What is erased again goes to stderr, as long as that is the terminal. */
function terminalScreen(isColored: boolean): TerminalScreen {
  const live = process.stderr.isTTY ? process.stderr : process.stdout;
  return new TerminalScreen({ out: process.stdout, live, isColored });
}

/** Signals. Ctrl-C is one only where the terminal makes it one. */
function watchProcess(repl: Repl, onContinue: () => void): () => void {
  const exitLater = (code: number) => setTimeout(() => process.exit(code), LEAVE_MS).unref();
  const onInterrupt = () => {
    if (repl.isLeaving) process.exit(signalExitCodes.SIGINT);
    repl.onInterrupt();
  };
  const onEnd = (signal: EndSignal) => {
    const code = signalExitCodes[signal];
    if (repl.isLeaving) process.exit(code);
    repl.leave(code);
    exitLater(code);
  };
  process.on('SIGINT', onInterrupt);
  for (const signal of ends) process.on(signal, onEnd);
  process.on('SIGCONT', onContinue);
  return () => {
    process.off('SIGINT', onInterrupt);
    for (const signal of ends) process.off(signal, onEnd);
    process.off('SIGCONT', onContinue);
  };
}
