/**
 * Several hooks of one event say one thing. Pure, and (but for what is written below) the same
 * whatever the order of the hooks.
 *
 * - stop: one `continue: false` is enough; the first reason in the order of registration is told.
 * - blocked: every reason, in the order of registration, the same reason once.
 * - permission: deny > defer > ask > allow; the reasons of those who said the strictest.
 * - updatedInput, updatedToolOutput: there can be only one. The last in the order of registration
 *   wins, and a warning says so when they differ.
 * - additionalContext: all of it, in the order of registration.
 * - a failure: a warning; of a hook that fails closed it counts as an objection, too.
 * - an objection (exit code 2, `decision: "block"`) before a tool is a denial.
 * - what a hook says to an event that only listens is not heard, but for its message to people.
 */
import { clipEnd } from '../tools/process/clip.ts';
import { hookLimits } from './limits.ts';
import { type HookResult, onlyListens } from './outcome.ts';
import { failsClosed, type HookRegistration, nameOf } from './registration.ts';
import type { HookEvent, HookOutput, HookVerdict } from './types.ts';

type Decision = NonNullable<HookVerdict['permission']>['decision'];
/** Strictest first. */
const STRICTNESS: readonly Decision[] = ['deny', 'defer', 'ask', 'allow'];

/** What one hook adds to the verdict. */
interface Voice {
  readonly hook: HookRegistration;
  readonly stop?: string;
  readonly objection?: string;
  readonly permission?: { readonly decision: Decision; readonly reason: string };
  readonly context?: string;
  readonly updatedInput?: Readonly<Record<string, unknown>>;
  /** Wrapped: a hook may replace the output by nothing. */
  readonly updatedToolOutput?: { readonly value: unknown };
  readonly warnings: readonly string[];
}

/** @param results in the order of registration. */
export const mergeHooks = (event: HookEvent, results: readonly HookResult[]): HookVerdict => {
  const heard = results.map((result) => hear(event, result));
  const voices = onlyListens(event)
    ? heard.map(({ hook, warnings }) => ({ hook, warnings }))
    : heard;
  const said = <T>(of: (voice: Voice) => T | undefined): T[] =>
    voices.flatMap((voice) => of(voice) ?? []);
  const stop = said(({ stop: reason }) => reason)[0];
  const permission = strictest(said(({ permission: one }) => one));
  const inputs = said(({ updatedInput }) => updatedInput);
  const outputs = said(({ updatedToolOutput }) => updatedToolOutput);
  const input = permission?.decision === 'deny' ? undefined : inputs.at(-1);
  const output = outputs.at(-1);
  return {
    blocked: unique(said(({ objection }) => objection)),
    additionalContext: said(({ context }) => context),
    warnings: [
      ...voices.flatMap(({ warnings }) => warnings),
      ...(differ(inputs) ? [`${event}: several hooks changed the input; the last one counts`] : []),
      ...(differ(outputs) ? [`${event}: several hooks changed the output; the last counts`] : []),
    ],
    ...(stop === undefined ? {} : { prevented: { reason: stop } }),
    ...(permission === undefined ? {} : { permission }),
    ...(input === undefined ? {} : { updatedInput: input }),
    ...(output === undefined ? {} : { updatedToolOutput: output.value }),
  };
};

/** Says the verdict of no hook at all. */
export const silence: HookVerdict = { blocked: [], additionalContext: [], warnings: [] };

const hear = (event: HookEvent, { hook, outcome }: HookResult): Voice => {
  const warn = (text: string) => clipEnd(`${shortNameOf(hook)} ${text}`, hookLimits.textCharsMax);
  const object = (reason: string) =>
    event === 'PreToolUse'
      ? { permission: { decision: 'deny' as const, reason } }
      : { objection: reason };
  switch (outcome.kind) {
    case 'said': {
      const complaints = outcome.complaints.map((text) =>
        warn(`said what cannot be used: ${text}`),
      );
      const voice = listen(event, hook, outcome.output, complaints);
      const isUnclear = complaints.length > 0 && failsClosed(hook);
      return isUnclear ? { ...voice, ...object(`${complaints[0]} (${POLICY})`) } : voice;
    }
    case 'objected': {
      const reason = outcome.reason || `${shortNameOf(hook)} objects without a reason`;
      return onlyListens(event)
        ? { hook, warnings: [warn(`objects: ${reason}`)] }
        : { hook, warnings: [], ...object(reason) };
    }
    case 'context':
      return { hook, warnings: [], context: outcome.text };
    case 'silent':
      return { hook, warnings: [] };
    case 'failed': {
      const warnings = [warn(`failed: ${outcome.detail}`)];
      return failsClosed(hook)
        ? { hook, warnings, ...object(`${warnings[0]} (${POLICY})`) }
        : { hook, warnings };
    }
    case 'aborted':
      // Nothing runs after an abort; if something did, a guard has not let it pass.
      return failsClosed(hook)
        ? { hook, warnings: [], ...object(`${shortNameOf(hook)} was interrupted (${POLICY})`) }
        : { hook, warnings: [] };
  }
};

const POLICY = 'this hook must not fail: policy';

const listen = (
  event: HookEvent,
  hook: HookRegistration,
  output: HookOutput,
  complaints: readonly string[],
): Voice => {
  const { hookSpecificOutput: inner = {}, systemMessage } = output;
  const named = inner.hookEventName;
  const isForOther = named !== undefined && named !== event;
  const specific = isForOther ? {} : inner;
  const context = textOf(specific.additionalContext);
  const updatedInput = specific.updatedInput as Voice['updatedInput'] | undefined;
  const permission = event === 'PreToolUse' ? permissionOf(output, specific) : undefined;
  const replacement = event === 'PostToolUse' ? replacementOf(specific) : undefined;
  return {
    hook,
    warnings: [
      ...complaints,
      ...(systemMessage ? [clipEnd(systemMessage, hookLimits.textCharsMax)] : []),
      ...(isForOther ? [`${shortNameOf(hook)} answered for ${named}: not heard`] : []),
    ],
    ...(output.continue === false
      ? { stop: output.stopReason || output.reason || `${shortNameOf(hook)} said stop` }
      : {}),
    ...(output.decision === 'block' && event !== 'PreToolUse'
      ? { objection: clip(output.reason) || `${shortNameOf(hook)} objects without a reason` }
      : {}),
    ...(permission ? { permission } : {}),
    ...(context ? { context } : {}),
    ...(updatedInput && event === 'PreToolUse' ? { updatedInput } : {}),
    ...(replacement ? { updatedToolOutput: replacement } : {}),
  };
};

/** The old words are still spoken: `approve` and `block` at the top. */
const permissionOf = (
  { decision, reason }: HookOutput,
  specific: Readonly<Record<string, unknown>>,
): Voice['permission'] => {
  const old = decision === 'block' ? 'deny' : decision === 'approve' ? 'allow' : undefined;
  const said = [specific.permissionDecision, old];
  const strict = STRICTNESS.find((one) => said.includes(one));
  if (strict === undefined) return undefined;
  return { decision: strict, reason: textOf(specific.permissionDecisionReason) ?? clip(reason) };
};

/** `updatedMCPToolOutput` is the Agent SDK's name for it. */
const replacementOf = (
  specific: Readonly<Record<string, unknown>>,
): Voice['updatedToolOutput'] | undefined => {
  const value = specific.updatedToolOutput ?? specific.updatedMCPToolOutput;
  return value === undefined ? undefined : { value };
};

const strictest = (
  said: readonly NonNullable<Voice['permission']>[],
): HookVerdict['permission'] | undefined => {
  const decision = STRICTNESS.find((one) => said.some((voice) => voice.decision === one));
  if (decision === undefined) return undefined;
  const reasons = said.filter((voice) => voice.decision === decision).map(({ reason }) => reason);
  return { decision, reason: unique(reasons.filter((reason) => reason)).join('\n') };
};

const differ = (values: readonly unknown[]): boolean =>
  new Set(values.map((value) => JSON.stringify(value))).size > 1;
const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];
const clip = (text = ''): string => clipEnd(text, hookLimits.textCharsMax);
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? clip(value) : undefined;
const shortNameOf = (hook: HookRegistration): string =>
  clipEnd(nameOf(hook), hookLimits.commandCharsMax);
