/**
 * Changes of what is allowed that come with a person's answer: the Agent SDK's `PermissionUpdate`.
 * A host sends them as plain JSON, so they are checked before anything is believed.
 */
import { parseRule } from './rules.ts';
import type { PermissionMode, RuleSet, RuleSource, ToolPermissionContext } from './types.ts';

export type UpdateDestination =
  | 'userSettings'
  | 'projectSettings'
  | 'localSettings'
  | 'session'
  | 'cliArg';
export interface RuleValue {
  readonly toolName: string;
  /** What stands in the parentheses. */
  readonly ruleContent?: string;
}
export type PermissionUpdate =
  | {
      readonly type: 'addRules' | 'replaceRules' | 'removeRules';
      readonly rules: readonly RuleValue[];
      readonly behavior: 'allow' | 'deny' | 'ask';
      readonly destination: UpdateDestination;
    }
  | {
      readonly type: 'setMode';
      readonly mode: PermissionMode;
      readonly destination: UpdateDestination;
    }
  | {
      readonly type: 'addDirectories' | 'removeDirectories';
      readonly directories: readonly string[];
      readonly destination: UpdateDestination;
    };

export interface Updated {
  readonly context: ToolPermissionContext;
  /** Updates that were not made, and why. */
  readonly problems: readonly string[];
  /** Those whose destination is a settings file: whoever owns the files may write them. */
  readonly lasting: readonly PermissionUpdate[];
}

const sourceOf: Record<UpdateDestination, RuleSource> = {
  userSettings: 'user',
  projectSettings: 'project',
  localSettings: 'local',
  session: 'session',
  cliArg: 'flag',
};
const modes: readonly PermissionMode[] = [
  ...(['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions'] as const),
];

/** *Contract:* never throws and never changes the context that was given. */
export function applyUpdates(context: ToolPermissionContext, updates: readonly unknown[]): Updated {
  const problems: string[] = [];
  const lasting: PermissionUpdate[] = [];
  let next = context;
  for (const given of updates) {
    const update = checked(given);
    const made = typeof update === 'string' ? update : applyOne(next, update);
    if (typeof made === 'string') {
      problems.push(made);
      continue;
    }
    next = made;
    if (typeof update !== 'string' && isLasting(update)) lasting.push(update);
  }
  return { context: next, problems, lasting };
}

const isLasting = ({ destination }: PermissionUpdate) =>
  destination !== 'session' && destination !== 'cliArg';

/** The rule as it stands in settings. */
export const ruleText = ({ toolName, ruleContent }: RuleValue): string =>
  ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;

function applyOne(context: ToolPermissionContext, update: PermissionUpdate) {
  switch (update.type) {
    case 'setMode':
      return update.mode === 'bypassPermissions' && !context.isBypassAvailable
        ? 'the mode bypassPermissions was not made available at the start'
        : { ...context, mode: update.mode };
    case 'addDirectories': {
      const all = [...context.additionalDirectories, ...update.directories];
      return { ...context, additionalDirectories: [...new Set(all)] };
    }
    case 'removeDirectories': {
      const left = context.additionalDirectories.filter((one) => !update.directories.includes(one));
      return { ...context, additionalDirectories: left };
    }
    case 'addRules':
    case 'replaceRules':
    case 'removeRules':
      return withRules(context, update);
  }
}

type RulesUpdate = Extract<PermissionUpdate, { rules: readonly RuleValue[] }>;

function withRules(context: ToolPermissionContext, update: RulesUpdate) {
  const source = sourceOf[update.destination];
  const texts = update.rules.map(ruleText);
  for (const text of texts) {
    const parsed = parseRule(text, source);
    if (!parsed.ok && update.type !== 'removeRules') return `the rule ${text}: ${parsed.problem}`;
  }
  const known = context.rules.find((set) => set.source === source);
  const set: RuleSet = known ?? { source, allow: [], deny: [], ask: [] };
  const before = set[update.behavior];
  const after = {
    addRules: [...new Set([...before, ...texts])],
    replaceRules: texts,
    removeRules: before.filter((text) => !texts.includes(text)),
  }[update.type];
  const changed = { ...set, [update.behavior]: after };
  const others = context.rules.filter((one) => one !== known);
  return { ...context, rules: [...others, changed] };
}

/** The update, or what is wrong with it. */
function checked(given: unknown): PermissionUpdate | string {
  const wrong = (what: string) => `a permission update has ${what}: ${JSON.stringify(given)}`;
  if (given === null || typeof given !== 'object') return wrong('no fields');
  const update = given as Readonly<Record<string, unknown>>;
  if (!Object.hasOwn(sourceOf, String(update.destination))) return wrong('no known destination');
  switch (update.type) {
    case 'setMode':
      return modes.some((mode) => mode === update.mode)
        ? (given as PermissionUpdate)
        : wrong('no known mode');
    case 'addDirectories':
    case 'removeDirectories':
      return isList(update.directories, (one) => typeof one === 'string' && one.startsWith('/'))
        ? (given as PermissionUpdate)
        : wrong('no list of absolute folders');
    case 'addRules':
    case 'replaceRules':
    case 'removeRules':
      if (!['allow', 'deny', 'ask'].includes(String(update.behavior))) return wrong('no behavior');
      return isList(update.rules, isRuleValue) ? (given as PermissionUpdate) : wrong('no rules');
    default:
      return wrong('no known type');
  }
}

const isList = (value: unknown, isItem: (item: unknown) => boolean) =>
  Array.isArray(value) && value.every(isItem);
const isRuleValue = (value: unknown): value is RuleValue => {
  if (value === null || typeof value !== 'object') return false;
  const { toolName, ruleContent } = value as Readonly<Record<string, unknown>>;
  return (
    typeof toolName === 'string' && (ruleContent === undefined || typeof ruleContent === 'string')
  );
};
