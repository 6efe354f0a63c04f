/** A mistake of the caller, with its remedy in one line. Exit code 2 in the CLI. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
