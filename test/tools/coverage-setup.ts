/** vitest's setupFiles: before and after each test file. */
import { afterAll, beforeAll, expect } from 'vitest';
import { beginCoverage, endCoverage } from './chart-coverage.ts';

beforeAll(() => beginCoverage(expect.getState().testPath ?? 'unknown'));
afterAll(endCoverage);
