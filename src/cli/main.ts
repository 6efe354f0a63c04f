#!/usr/bin/env node
/**
 * The executable. Small on purpose: version and help load nothing of the engine, and everything
 * else is a chunk of its own.
 */
import process from 'node:process';
import { workingFolder } from '../real-folder.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
import type { ParsedArguments } from './args.ts';
import { type CliContext, exitCodes } from './context.ts';
import { printable } from './printable.ts';
import { createLineWriter } from './stdout.ts';

const argv = process.argv.slice(2);
const out = createLineWriter(process.stdout);
// A closed stderr is no reason to die: the result still goes to stdout.
process.stderr.on('error', () => {});
const warn = (text: string): void => {
  // Also into a pipe: what is logged is looked at in a terminal later.
  process.stderr.write(`escapement: ${printable(text)}\n`);
};

async function main(): Promise<number> {
  const [command] = argv;
  if (command === '--version' || command === '-v') {
    await out.writeText(`${VERSION} (Escapement)\n`);
    return exitCodes.good;
  }
  switch (command) {
    case 'mock-server': {
      const { runMockServer } = await import('./mock-server.ts');
      return runMockServer(argv.slice(1));
    }
    case 'demo': {
      const { runDemo } = await import('./demo.ts');
      return runDemo(argv.slice(1), contextOf(false));
    }
    case 'doctor': {
      const { runDoctor } = await import('./doctor.ts');
      return runDoctor(argv.slice(1), contextOf(false));
    }
    case 'mcp': {
      const { runMcp } = await import('./mcp.ts');
      return runMcp(argv.slice(1), contextOf(false));
    }
    case 'inspect': {
      const { runInspect } = await import('./inspect.ts');
      return runInspect(argv.slice(1), contextOf(false));
    }
    default:
      await refuseSlip(command);
      return runArguments();
  }
}

/** Shorter names are too near to words that people say. */
const longCommands = ['mock-server', 'doctor', 'inspect'];

/** One word alone that is nearly a command is none that a model should be paid for. */
async function refuseSlip(word: string | undefined): Promise<void> {
  if (word === undefined || argv.length > 1) return;
  const { nearMiss } = await import('../near-miss.ts');
  const meant = nearMiss(word, longCommands);
  if (meant === undefined) return;
  throw new UsageError(
    `there is no command ${word}: did you mean ${meant}? As a prompt: escapement -p ${word}`,
  );
}

async function runArguments(): Promise<number> {
  const { parseArguments } = await import('./args.ts');
  const parsed = parseArguments(argv, {
    cwd: workingFolder(),
    stdinIsTTY: process.stdin.isTTY === true,
    stdoutIsTTY: process.stdout.isTTY === true,
  });
  const { invocation, inspect } = parsed;
  const plain = contextOf(invocation.kind !== 'text' && invocation.debug);
  if (!inspect) return runInvocation(parsed, plain);
  // A page of a run that cannot begin would be an address of nothing. A headless host is told so by
  // its own run.
  if (invocation.kind === 'print' || invocation.kind === 'interactive') {
    const { modelAccess } = await import('../model-access.ts');
    modelAccess(invocation.options, plain.environment);
  }
  const { watchRun } = await import('./watch-run.ts');
  const watch = await watchRun(inspect, plain);
  try {
    return await runInvocation(parsed, { ...plain, onEngine: watch.engine });
  } finally {
    await watch.close();
  }
}

async function runInvocation(
  { invocation, mcpConfig, ignored }: ParsedArguments,
  context: CliContext,
): Promise<number> {
  if (invocation.kind === 'text') {
    await out.writeText(invocation.text);
    return exitCodes.good;
  }
  for (const flag of ignored) context.debug(`${flag} has no effect here`);
  const { readMcpConfig } = await import('./mcp-config.ts');
  const mcpServers = await readMcpConfig(mcpConfig, context.cwd);
  if (invocation.kind === 'print') {
    const { runPrint } = await import('./print.ts');
    return runPrint({ ...invocation, mcpServers }, context);
  }
  if (invocation.kind === 'interactive') {
    let { options } = invocation;
    if (options.settingSources === undefined) {
      const { askTrust } = await import('./ask-trust.ts');
      const isTrusted = await askTrust(context, process.stdin);
      if (isTrusted) options = { ...options, settingSources: ['user', 'project', 'local'] };
    }
    const { runRepl } = await import('./repl/run-repl.ts');
    return runRepl({ ...invocation, options, mcpServers }, context);
  }
  const { runHeadless } = await import('./headless.ts');
  return runHeadless({ ...invocation, mcpServers }, context);
}

function contextOf(debug: boolean): CliContext {
  return {
    cwd: workingFolder(),
    environment: process.env,
    stdin: process.stdin,
    stdinIsTTY: process.stdin.isTTY === true,
    out,
    warn,
    debug: debug ? warn : () => {},
  };
}

/** `process.exit` cuts what a pipe has not taken, so both streams are emptied first. */
async function leave(code: number): Promise<never> {
  await out.flush();
  const lost = out.lost;
  if (lost !== undefined && code === exitCodes.good) {
    warn(`the output was lost: ${lost}`);
    return leave(exitCodes.failed);
  }
  await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
  process.exit(code);
}

main().then(leave, (error: unknown) => {
  if (error instanceof UsageError) {
    warn(error.message);
    return leave(exitCodes.usage);
  }
  // A throw is a bug: the stack is for whoever fixes it.
  warn(`internal error: ${error instanceof Error ? error.stack : String(error)}`);
  return leave(exitCodes.failed);
});
