/** vitest's globalSetup: when all test files have ended, their parts become one file. */
export default function setup(): () => Promise<void> {
  return async () => {
    const { writeCoverage } = await import('./coverage-report.ts');
    writeCoverage();
  };
}
