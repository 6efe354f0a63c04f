/** What a hook may say. Heavy (zod): imported when the first hook has said something. */
import { z } from 'zod';
import type { HookOutput } from './types.ts';

/** Fields of others are left alone: newer hooks speak to older engines. */
const schema = z.looseObject({
  continue: z.boolean().optional(),
  stopReason: z.string().optional(),
  decision: z.enum(['approve', 'block']).optional(),
  reason: z.string().optional(),
  systemMessage: z.string().optional(),
  suppressOutput: z.boolean().optional(),
  async: z.boolean().optional(),
  asyncTimeout: z.number().optional(),
  hookSpecificOutput: z
    .looseObject({
      hookEventName: z.string().optional(),
      permissionDecision: z.enum(['allow', 'deny', 'ask', 'defer']).optional(),
      permissionDecisionReason: z.string().optional(),
      updatedInput: z.record(z.string(), z.unknown()).optional(),
      additionalContext: z.string().optional(),
    })
    .optional(),
});

/**
 * Takes what is right and tells what is wrong: a denial stays one although its reason is no text.
 * @returns complaints such as `decision: expected one of "approve", "block"`.
 */
export const checkOutput = (
  said: Readonly<Record<string, unknown>>,
): { output: HookOutput; complaints: readonly string[] } => {
  const checked = schema.safeParse(said);
  if (checked.success) return { output: checked.data as HookOutput, complaints: [] };
  const { issues } = checked.error;
  return {
    output: issues.reduce((rest, { path }) => without(rest, path), said) as HookOutput,
    complaints: issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`),
  };
};

const without = (
  value: Readonly<Record<string, unknown>>,
  [key, ...rest]: readonly PropertyKey[],
): Readonly<Record<string, unknown>> => {
  const { [String(key)]: inner, ...others } = value;
  // Only the innermost wrong field goes; what was taken out already has nothing inside.
  return rest.length === 0 || inner === null || typeof inner !== 'object'
    ? others
    : { ...others, [String(key)]: without(inner as Readonly<Record<string, unknown>>, rest) };
};
