/** Typing errors that would remove a guard without a word. */
import { describe, expect, test } from 'vitest';
import { nearMiss } from '../../src/near-miss.ts';
import { settingsSchema } from '../../src/settings-schema.ts';

describe('a name that is almost one of ours', () => {
  test.each([
    ['dney', 'deny'],
    ['Raed', 'Read'],
    ['permisions', 'permissions'],
    ['Bsh', 'Bash'],
  ])('%s is taken for %s', (word, meant) => {
    expect(nearMiss(word, ['allow', 'deny', 'Read', 'Bash', 'permissions'])).toBe(meant);
  });

  test.each(['Read', 'NotebookEdit', 'statusLine', 'WebSearch', 'apiKeyHelper'])(
    '%s is known, or another word',
    (word) => {
      expect(nearMiss(word, ['allow', 'deny', 'Read', 'Edit', 'permissions'])).toBeUndefined();
    },
  );

  test('settings with such a key are refused, with the key that was meant', () => {
    const refused = settingsSchema.safeParse({ permissions: { dney: ['Read'] } });
    expect(refused.success).toBe(false);
    expect(refused.error?.issues[0]).toMatchObject({
      path: ['permissions', 'dney'],
      message: expect.stringContaining('"deny"'),
    });
    expect(settingsSchema.safeParse({ permisions: {} }).success).toBe(false);
    expect(settingsSchema.safeParse({ statusLine: {}, cleanupPeriodDays: 3 }).success).toBe(true);
  });
});
