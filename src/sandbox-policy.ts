/** The fence of a session, from its settings. */
import { join, resolve } from 'node:path';
import { type SandboxPolicy, sandboxState } from '../services/sandbox/sandbox.ts';
import type { SandboxSettings } from './settings.ts';

/** Keys of a person, which no build needs. Below the home folder. */
const secrets: readonly string[] = [
  ...['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.docker', '.netrc', '.git-credentials'],
  ...['.config/gcloud', '.config/gh', '.password-store', '.config/op'],
];

/** `undefined`: no sandbox was asked for. */
export function sandboxPolicy(
  settings: SandboxSettings | undefined,
  { cwd, home, userHome }: SandboxPlace,
): SandboxPolicy | undefined {
  if (!settings?.enabled) return undefined;
  return {
    isRequired: settings.required === true,
    hasNetwork: settings.network === true,
    writable: [cwd, ...(settings.writable ?? []).map((folder) => resolve(cwd, folder))],
    hidden: [home, ...secrets.map((name) => join(userHome, name))],
  };
}

export interface SandboxPlace {
  readonly cwd: string;
  /** `$ESCAPEMENT_HOME`: transcripts of all sessions. */
  readonly home: string;
  readonly userHome: string;
}

/** What a host should know of its fence; empty when all is as it was asked for. */
export async function sandboxWarnings(policy: SandboxPolicy | undefined): Promise<string[]> {
  if (!policy) return [];
  const state = await sandboxState();
  if (state.isThere) return [];
  const then = policy.isRequired ? 'No shell command will run.' : 'Commands run without it.';
  return [`The sandbox that the settings ask for is not there: ${state.why}. ${then}`];
}
