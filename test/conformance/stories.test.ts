/** @see stories.ts: told here of the chart as it is. */
import { describe, it } from 'vitest';
import { stories } from './stories.ts';

describe('stories', () => {
  it.each(stories.map(({ name, run }) => [name, run] as const))('%s', (_, run) => run());
});
