/** Every bound of the shell tools, unit last in the name. */
const SECOND = 1_000;

export const shellLimits = {
  /** A command without a timeout of its own. */
  timeoutDefaultMs: 120 * SECOND,
  /** Longer work belongs in the background. */
  timeoutMaxMs: 600 * SECOND,
  /** Beyond the command's own timeout: two graces, and the time to write down the output. */
  deadlineSlackMs: 10 * SECOND,
  /** For what only looks or sends a signal. */
  quickDeadlineMs: 30 * SECOND,
  /** Of the output in one result; below the executor's own bound, so that ours says what is cut. */
  resultCharsMax: 30_000,
  /** New output of a background shell that nobody has read yet. */
  unreadCharsMax: 30_000,
  /** Each of them holds pipes and a buffer. */
  runningMax: 50,
  /** Ended shells whose last output can still be read. */
  endedMax: 50,
  /** How often a running command shows its last line. */
  progressMs: 1 * SECOND,
  progressChars: 200,
  gistChars: 200,
  /** A session that ends does not wait for slow goodbyes. */
  disposeGraceMs: 500,
  killGraceMs: 2 * SECOND,
  /** Processes named in a note. */
  namedProcessesMax: 5,
} as const;

/** The timeout that counts, in milliseconds; a larger one than there may be is lowered. */
export const timeoutOf = (wished: unknown): number =>
  typeof wished === 'number'
    ? Math.min(Math.max(wished, 1), shellLimits.timeoutMaxMs)
    : shellLimits.timeoutDefaultMs;
