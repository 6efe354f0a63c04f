#!/usr/bin/env node
/**
 * The executable. Small on purpose: version and help load nothing of the engine, and everything
 * else is a chunk of its own.
 */
import process from 'node:process';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
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
    case 'inspect':
      throw new UsageError(`${command} is not there yet: see escapement --help for what is`);
    default:
      return runArguments();
  }
}

async function runArguments(): Promise<number> {
  const { parseArguments } = await import('./args.ts');
  const { invocation, mcpConfig, ignored } = parseArguments(argv, {
    cwd: process.cwd(),
    stdinIsTTY: process.stdin.isTTY === true,
    stdoutIsTTY: process.stdout.isTTY === true,
  });
  if (invocation.kind === 'text') {
    await out.writeText(invocation.text);
    return exitCodes.good;
  }
  const context = contextOf(invocation.debug);
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
    cwd: process.cwd(),
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
