/** The shape of a settings file. Apart from `settings.ts`, since it brings zod with it. */
import { z } from 'zod';

const texts = z.array(z.string());
const positive = z.number().int().positive();

export const settingsSchema = z.looseObject({
  model: z.string().min(1).optional(),
  smallModel: z.string().min(1).optional(),
  env: z.record(z.string(), z.string()).optional(),
  permissions: z
    .looseObject({
      allow: texts.optional(),
      deny: texts.optional(),
      ask: texts.optional(),
      defaultMode: z
        .enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'])
        .optional(),
      additionalDirectories: texts.optional(),
      disableBypassPermissionsMode: z.literal('disable').optional(),
    })
    .optional(),
  sandbox: z
    .looseObject({
      enabled: z.boolean().optional(),
      required: z.boolean().optional(),
      network: z.boolean().optional(),
      writable: texts.optional(),
    })
    .optional(),
  hooks: z.record(z.string(), z.unknown()).optional(),
  autoCompactEnabled: z.boolean().optional(),
  autoCompactWindow: positive.optional(),
  historySnip: z.looseObject({ maxMessages: positive }).optional(),
  reactiveCompactEnabled: z.boolean().optional(),
  contextCollapse: z.boolean().optional(),
  emitToolUseSummaries: z.boolean().optional(),
  tokenBudget: positive.optional(),
  maxDurationMs: positive.optional(),
  maxOutputTokens: positive.optional(),
});
