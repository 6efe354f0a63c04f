/** What becomes of the messages of a turn on stdout and stderr, by the format that was asked for. */
import type { SDKMessage } from '../wire.ts';
import type { CliContext } from './context.ts';
import type { OutputFormat } from './flags.ts';
import { printable } from './printable.ts';
import { emptyView, showMessage } from './view.ts';

export type Result = Extract<SDKMessage, { type: 'result' }>;

export interface Printer {
  hear(message: SDKMessage): Promise<void>;
  /** After the last message, when something was asked. */
  end?(result: Result | undefined): Promise<void>;
}

export function printerFor(format: OutputFormat, isVerbose: boolean, context: CliContext): Printer {
  switch (format) {
    case 'stream-json':
      return { hear: (message) => context.out.write(message) };
    case 'json':
      return isVerbose ? allAsJson(context) : resultAsJson(context);
    case 'text':
      return isVerbose ? turnOnStderr(context) : answerOnly(context);
  }
}

/** Where there is no result, what was said instead: a reader of JSON is not left with nothing. */
function resultAsJson({ out, warn }: CliContext): Printer {
  let warning: SDKMessage | undefined;
  return {
    hear: async (message) => {
      if (isWarning(message)) warning = message;
      tellWarning(message, warn);
    },
    end: async (result) => {
      const last = result ?? warning;
      if (last) await out.write(last);
    },
  };
}

/** One array: a reader of JSON has the whole turn, the result last. */
function allAsJson({ out }: CliContext): Printer {
  const all: SDKMessage[] = [];
  return {
    hear: async (message) => {
      all.push(message);
    },
    end: () => out.write(all),
  };
}

/** The answer and nothing else on stdout; what went wrong is for stderr. */
const answerOnly = (context: CliContext): Printer => ({
  hear: async (message) => tellWarning(message, context.warn),
  end: (result) => printAnswer(result, context),
});

/** The same on stdout, and beside it what happens, as it happens. */
function turnOnStderr(context: CliContext): Printer {
  let view = emptyView;
  return {
    hear: async (message) => {
      const [next, text] = showMessage(view, message, { isColored: false, isVerbose: true });
      view = next;
      process.stderr.write(text);
    },
    end: (result) => printAnswer(result, context),
  };
}

async function printAnswer(result: Result | undefined, { out, warn }: CliContext): Promise<void> {
  if (!result) return;
  if (result.is_error) {
    const causes = result.errors.filter((error) => error.trim() !== '');
    return warn(`${result.terminal_reason}: ${causes.join('; ') || 'the turn failed'}`);
  }
  const text = out.isTTY ? printable(result.result) : result.result;
  await out.writeText(`${text}\n`);
}

/** A server that is not there, a folder that counts for nothing: silence would look like success. */
function tellWarning(message: SDKMessage, warn: (text: string) => void): void {
  if (isWarning(message)) warn(message.content);
}

type Warning = Extract<SDKMessage, { subtype: 'informational' }>;

const isWarning = (message: SDKMessage): message is Warning =>
  message.type === 'system' && message.subtype === 'informational' && message.level === 'warning';
