/** Permission modes by name, as flags and hosts say them. */
import type { PermissionMode } from '../services/permissions/types.ts';

export const permissionModes: readonly PermissionMode[] = [
  'default',
  'acceptEdits',
  'plan',
  'dontAsk',
  'bypassPermissions',
];

/** `manual` is what other programs call `default`. `undefined`: there is no such mode. */
export const permissionModeNamed = (name: unknown): PermissionMode | undefined =>
  name === 'manual' ? 'default' : permissionModes.find((known) => known === name);
