/** The words of anything that was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);
