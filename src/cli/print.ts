/** One prompt, one answer: what scripts and pipes use. */
import { messageOf } from '../../services/message-of.ts';
import type { Options } from '../options.ts';
import type { QueryEngine } from '../query-engine.ts';
import { UsageError } from '../usage-error.ts';
import type { SDKMessage } from '../wire.ts';
import { type CliContext, closeEngine, exitCodes, PROMPT_BYTES_MAX } from './context.ts';
import type { OutputFormat } from './flags.ts';
import { startHeartbeat } from './heartbeat.ts';
import { type Printer, printerFor, type Result } from './printer.ts';
import { watchSignals } from './signals.ts';
import { readAll } from './stdin-lines.ts';

/**
 * With a prompt in the arguments: how long to wait for the first piped byte. A parent that leaves
 * its end of stdin open and never writes must not hang us.
 */
const STDIN_WAIT_MS = 3_000;

export interface PrintParts {
  readonly prompt: string | undefined;
  readonly outputFormat: OutputFormat;
  /** Default: no. */
  readonly failsOnDenial?: boolean;
  readonly options: Options;
  readonly mcpServers: Readonly<Record<string, unknown>>;
}

/** @returns the exit code. @throws UsageError before anything is sent or written. */
export async function runPrint(parts: PrintParts, context: CliContext): Promise<number> {
  const finishes = parts.options.finishInterrupted === true;
  const prompt = await promptText(parts.prompt, context, finishes);
  const { engineFromOptions } = await import('../options.ts');
  const servers = parts.mcpServers;
  const engine = await engineFromOptions(
    {
      ...parts.options,
      ...(Object.keys(servers).length > 0 && { mcpServers: servers }),
      stderr: context.debug,
    },
    context.environment,
  );
  context.onEngine?.(engine);
  const watch = watchSignals(() => engine.interrupt());
  context.out.gone.addEventListener('abort', () => engine.interrupt());
  const stopHeartbeat =
    parts.outputFormat === 'stream-json' ? startHeartbeat(context.out) : () => {};
  // Nothing was interrupted, and nothing was asked: that is no failure.
  const hasNothingToDo = finishes && engine.interrupted === undefined;
  try {
    const messages = turnsOf(engine, prompt, finishes);
    const isVerbose = parts.options.verbose === true;
    const printer = printerFor(parts.outputFormat, isVerbose, context);
    const result = await runTurn(messages, printer, context);
    await context.out.flush();
    const isLost = context.out.gone.aborted;
    if (isLost) context.warn(`the output was lost: ${messageOf(context.out.gone.reason)}`);
    const isDenied = parts.failsOnDenial === true && (result?.permission_denials.length ?? 0) > 0;
    const isGood = !isLost && (result ? !result.is_error : hasNothingToDo) && !isDenied;
    return watch.exitCode ?? (isGood ? exitCodes.good : exitCodes.failed);
  } finally {
    stopHeartbeat();
    await closeEngine(engine, context);
    await context.out.flush();
  }
}

/** The interrupted turn first, when that is wanted; then the prompt, when there is one. */
async function* turnsOf(engine: QueryEngine, prompt: string | undefined, finishes: boolean) {
  if (finishes) yield* engine.finishInterrupted();
  if (prompt !== undefined) yield* engine.submitMessage(prompt);
}

async function runTurn(
  messages: AsyncIterable<SDKMessage>,
  printer: Printer,
  { out }: CliContext,
): Promise<Result | undefined> {
  let result: Result | undefined;
  for await (const message of messages) {
    if (message.type === 'result') result = message;
    await printer.hear(message);
    if (out.gone.aborted) break;
  }
  await printer.end?.(result);
  return result;
}

/** The argument, then what was piped in. */
async function promptText(
  argument: string | undefined,
  context: CliContext,
  mayBeAbsent: boolean,
): Promise<string | undefined> {
  const piped = await pipedText(argument !== undefined, context);
  const prompt = [argument, piped].filter((part) => part?.trim()).join('\n');
  if (prompt === '') {
    if (mayBeAbsent) return undefined;
    throw new UsageError(
      'no prompt: give one as an argument (escapement -p "…") or pipe it in; an empty one is not sent',
    );
  }
  checkSize(Buffer.byteLength(prompt));
  return prompt;
}

async function pipedText(hasArgument: boolean, context: CliContext): Promise<string | undefined> {
  if (context.stdinIsTTY) return undefined;
  const reading = readAll(context.stdin, PROMPT_BYTES_MAX);
  const piped = await (hasArgument ? orSilence(reading, context) : reading);
  if (piped === undefined) return undefined;
  if ('tooLong' in piped) checkSize(piped.tooLong);
  return 'text' in piped ? piped.text : undefined;
}

function checkSize(bytes: number): void {
  if (bytes <= PROMPT_BYTES_MAX) return;
  throw new UsageError(
    `the prompt is larger than ${PROMPT_BYTES_MAX} bytes and fits no model: name the file instead, so that it is read in parts`,
  );
}

async function orSilence<T>(reading: Promise<T>, context: CliContext): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      context.warn('nothing came on stdin: going on without it (use < /dev/null to skip the wait)');
      resolve(undefined);
    }, STDIN_WAIT_MS);
  });
  const result = await Promise.race([reading, silence]);
  clearTimeout(timer);
  return result;
}
