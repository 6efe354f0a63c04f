import { z } from 'zod';

export const webFetchInput = z.strictObject({
  url: z.string().trim().min(1).max(8_000),
  prompt: z.string().optional().describe('What you look for; the page is returned as a whole'),
});
