/** SIGINT, SIGTERM, SIGHUP and SIGQUIT: the turn is aborted, its result is written, then the process ends. */

/** What a shell shows for a death by the signal: 128 + its number. */
export const signalExitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;
export type EndSignal = keyof typeof signalExitCodes;

/**
 * After the first signal: how long the turn may take to end and its result to be read. A supervisor
 * kills after 5 to 10 seconds; we want to have left before.
 */
export const LEAVE_MS = 4_000;

/**
 * Clients end a process by more than one hand: the official SDK and its spawn's AbortSignal both
 * send SIGTERM, milliseconds apart. That is one wish; no person presses Ctrl-C twice so fast.
 */
const TOGETHER_MS = 250;

export interface SignalWatch {
  /** Exit code of the first signal that came, if one came. */
  readonly exitCode: number | undefined;
  stop(): void;
}

/**
 * Watches these signals.
 *
 * The first one calls `onFirst` and starts the clock. A second one (not the echo of the first), or
 * the end of `leaveMs`, exits at once: a person who presses Ctrl-C twice means it, and a reader that does not read must not keep
 * us alive.
 */
export function watchSignals(
  onFirst: (signal: EndSignal) => void,
  exit: (code: number) => void = process.exit,
  leaveMs = LEAVE_MS,
): SignalWatch {
  let exitCode: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let firstAt = 0;
  const listeners = (Object.keys(signalExitCodes) as EndSignal[]).map((signal) => {
    const listener = () => {
      if (exitCode !== undefined) {
        if (performance.now() - firstAt > TOGETHER_MS) exit(exitCode);
        return;
      }
      firstAt = performance.now();
      const code = signalExitCodes[signal];
      exitCode = code;
      timer = setTimeout(() => exit(code), leaveMs);
      timer.unref();
      onFirst(signal);
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return {
    get exitCode() {
      return exitCode;
    },
    stop() {
      clearTimeout(timer);
      for (const { signal, listener } of listeners) process.off(signal, listener);
    },
  };
}
