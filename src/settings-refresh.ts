/**
 * Settings files that are changed while a session runs. A session may get stricter by that, never
 * freer: a program that writes a settings file must not allow itself anything, and a file that is
 * broken for a moment must not take a guard away. What loosens counts from the next session on.
 */
import { statSync } from 'node:fs';
import type { RuleSet, ToolPermissionContext } from '../services/permissions/types.ts';
import { filesOf, type LoadedSettings, loadSettings, type SettingsPlace } from './settings.ts';
import { UsageError } from './usage-error.ts';

export interface Refreshed {
  /** For the host: what is wrong, or what does not count yet. */
  readonly warnings: readonly string[];
  readonly change: (context: ToolPermissionContext) => ToolPermissionContext;
}

const same = (context: ToolPermissionContext) => context;
export const unchanged: Refreshed = { warnings: [], change: same };

/**
 * @param loaded what the session started with.
 * @returns a look, for before each turn. *Contract:* it never throws; the same fault is told once.
 */
export function watchSettings(
  place: SettingsPlace,
  loaded: readonly LoadedSettings[],
): () => Promise<Refreshed> {
  let good = loaded;
  let seen = signatureOf(place);
  return async () => {
    const now = signatureOf(place);
    if (now === seen) return unchanged;
    seen = now;
    try {
      const fresh = await loadSettings(place);
      const before = good;
      good = fresh;
      return difference(before, fresh);
    } catch (error) {
      const cause = error instanceof UsageError ? error.message : String(error);
      return { warnings: [`${cause}. The rules that were read last stay in force.`], change: same };
    }
  };
}

/** When and how large; cheaper than reading, and enough to see that somebody has written. */
const signatureOf = (place: SettingsPlace): string =>
  filesOf(place)
    .map((file) => {
      const stats = statOf(file);
      return stats ? `${stats.mtimeNs}:${stats.size}:${stats.ino}` : '-';
    })
    .join(' ');

/** Nothing for a file that is not there, or whose folder is none: reading it has said so. */
function statOf(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false, bigint: true });
  } catch {
    return undefined;
  }
}

type Kind = 'allow' | 'deny' | 'ask';

function difference(
  before: readonly LoadedSettings[],
  after: readonly LoadedSettings[],
): Refreshed {
  const sources = [...new Set([...before, ...after].map(({ source }) => source))];
  const changes = sources.map((source) => {
    const rules = (of: readonly LoadedSettings[], kind: Kind) =>
      of
        .filter((one) => one.source === source)
        .flatMap((one) => one.settings.permissions?.[kind] ?? []);
    const added = (kind: Kind) => minus(rules(after, kind), rules(before, kind));
    const gone = (kind: Kind) => minus(rules(before, kind), rules(after, kind));
    return { source, added, gone };
  });
  const loosening = changes.flatMap(({ source, added, gone }) => [
    ...added('allow').map((rule) => `allow ${rule} (${source})`),
    ...[...gone('deny'), ...gone('ask')].map((rule) => `no longer ${rule} (${source})`),
  ]);
  const warnings = [
    ...(loosening.length > 0 ? [notYet(loosening)] : []),
    ...(hooksOf(before) === hooksOf(after) ? [] : [HOOKS_LATER]),
  ];
  const change = (context: ToolPermissionContext): ToolPermissionContext => ({
    ...context,
    rules: changes.reduce<readonly RuleSet[]>((sets, { source, added, gone }) => {
      const set = sets.find((one) => one.source === source);
      const { allow = [], deny = [], ask = [] } = set ?? {};
      const tightened: RuleSet = {
        source,
        allow: minus(allow, gone('allow')),
        deny: union(deny, added('deny')),
        ask: union(ask, added('ask')),
      };
      return [...sets.filter((one) => one !== set), tightened];
    }, context.rules),
  });
  return { warnings, change };
}

/**
 * Hooks are programs, and whoever can write the file would have them run without being asked: so
 * none is added, and none that guards is taken away, while a session runs.
 */
const HOOKS_LATER =
  'The hooks in the settings were changed: this session keeps those that it began with.';
const hooksOf = (loaded: readonly LoadedSettings[]): string =>
  JSON.stringify(loaded.map(({ source, settings: { hooks } }) => [source, hooks]));

/** More than this is no sentence any more. */
const NAMED_MAX = 3;
function notYet(what: readonly string[]): string {
  const more = what.length > NAMED_MAX ? ` and ${what.length - NAMED_MAX} more` : '';
  const named = `${what.slice(0, NAMED_MAX).join(', ')}${more}`;
  return `The settings were changed. What loosens them counts from the next session on: ${named}.`;
}

const minus = (all: readonly string[], some: readonly string[]) =>
  all.filter((one) => !some.includes(one));
const union = (all: readonly string[], more: readonly string[]) => [...new Set([...all, ...more])];
