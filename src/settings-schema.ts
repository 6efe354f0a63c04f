/** The shape of a settings file. Apart from `settings.ts`, since it brings zod with it. */
import { z } from 'zod';
import { nearMiss } from './near-miss.ts';

const texts = z.array(z.string());
const positive = z.number().int().positive();

/**
 * Unknown keys are left to the tools that share the file, but one that looks like a key of ours is
 * a typing error: `dney` would be a guard that does not guard.
 */
const withoutSlips = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.looseObject(shape).superRefine((value, context) => {
    for (const key of Object.keys(value)) {
      const meant = nearMiss(key, Object.keys(shape));
      const message = `unknown key "${key}", did you mean "${meant}"?`;
      if (meant !== undefined) context.addIssue({ code: 'custom', path: [key], message });
    }
  });

/** Nobody else writes into it, and each key of it guards something: what is unknown is refused. */
const onlyThese = <Shape extends z.ZodRawShape>(shape: Shape) =>
  withoutSlips(shape).superRefine((value, context) => {
    const known = Object.keys(shape);
    for (const key of Object.keys(value)) {
      if (known.includes(key) || nearMiss(key, known) !== undefined) continue;
      const message = `unknown key "${key}", there are ${known.join(', ')}`;
      context.addIssue({ code: 'custom', path: [key], message });
    }
  });

export const settingsSchema = withoutSlips({
  model: z.string().min(1).optional(),
  smallModel: z.string().min(1).optional(),
  env: z.record(z.string(), z.string()).optional(),
  permissions: onlyThese({
    allow: texts.optional(),
    deny: texts.optional(),
    ask: texts.optional(),
    defaultMode: z
      .enum(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'])
      .optional(),
    additionalDirectories: texts.optional(),
    disableBypassPermissionsMode: z.literal('disable').optional(),
  }).optional(),
  sandbox: withoutSlips({
    enabled: z.boolean().optional(),
    required: z.boolean().optional(),
    network: z.boolean().optional(),
    writable: texts.optional(),
  }).optional(),
  hooks: z.record(z.string(), z.unknown()).optional(),
  autoCompactEnabled: z.boolean().optional(),
  autoCompactWindow: positive.optional(),
  historySnip: withoutSlips({ maxMessages: positive }).optional(),
  reactiveCompactEnabled: z.boolean().optional(),
  cachedMicrocompact: z.boolean().optional(),
  contextCollapse: z.boolean().optional(),
  emitToolUseSummaries: z.boolean().optional(),
  tokenBudget: positive.optional(),
  maxDurationMs: positive.optional(),
  maxOutputTokens: positive.optional(),
});
