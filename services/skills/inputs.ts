import { z } from 'zod';

export const skillInput = z.strictObject({
  skill: z.string().trim().min(1).describe('Its name'),
  args: z.string().optional(),
});
