/** The rules and the mode that a session starts with: settings, each with its source, and flags. */
import { resolve } from 'node:path';
import { describeProblem, rulesOf } from '../services/permissions/rules.ts';
import type { PermissionMode, ToolPermissionContext } from '../services/permissions/types.ts';
import { forbidsBypass, type LoadedSettings, merged } from './settings.ts';
import { UsageError } from './usage-error.ts';

/** What the host says itself; its rules count as flags. */
export interface HostPermissions {
  readonly permissionMode?: PermissionMode;
  readonly allowDangerouslySkipPermissions?: boolean;
  readonly additionalDirectories?: readonly string[];
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
}

/** @throws UsageError for a bypass that nobody has opened, and for rules that cannot be read. */
export function permissionContext(
  host: HostPermissions,
  loaded: readonly LoadedSettings[],
  cwd: string,
): ToolPermissionContext {
  const isBypassAvailable = host.allowDangerouslySkipPermissions === true;
  if (isBypassAvailable && forbidsBypass(loaded)) {
    throw new UsageError(
      'bypassPermissions is switched off by the settings (disableBypassPermissionsMode)',
    );
  }
  const settingsMode = merged(loaded).permissions?.defaultMode as PermissionMode | undefined;
  const mode = host.permissionMode ?? settingsMode ?? 'default';
  if (mode === 'bypassPermissions' && !isBypassAvailable) {
    throw new UsageError(
      'bypassPermissions must be allowed twice: add allowDangerouslySkipPermissions: true, or ' +
        '--allow-dangerously-skip-permissions',
    );
  }
  const context: ToolPermissionContext = {
    mode,
    isBypassAvailable,
    additionalDirectories: [
      ...(host.additionalDirectories ?? []),
      ...loaded.flatMap(({ settings: one }) => one.permissions?.additionalDirectories ?? []),
    ].map((folder) => resolve(cwd, folder)),
    rules: [
      ...loaded.map(({ source, settings: { permissions } }) => ({
        source,
        allow: permissions?.allow ?? [],
        deny: permissions?.deny ?? [],
        ask: permissions?.ask ?? [],
      })),
      {
        source: 'flag',
        allow: host.allowedTools ?? [],
        deny: host.disallowedTools ?? [],
        ask: [],
      },
    ],
  };
  // Those of files were refused with their line; these came as arguments.
  const [problem] = rulesOf(context).problems;
  if (problem) throw new UsageError(describeProblem(problem));
  return context;
}
