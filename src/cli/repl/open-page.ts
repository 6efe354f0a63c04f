/** Opens a page in the person's browser, when the person has said so. */
import { spawn } from 'node:child_process';
import { childEnvironment } from '../../child-environment.ts';
import type { CliContext } from '../context.ts';

/** By `BROWSER`, or the way of the system. @returns `undefined` where there is none. */
export function pageOpener(
  environment: CliContext['environment'],
  platform: NodeJS.Platform = process.platform,
): ((url: URL, onFailure: (why: string) => void) => void) | undefined {
  const program = environment.BROWSER || systemOpeners[platform];
  if (!program) return undefined;
  return (url, onFailure) => {
    // The address is an argument and no part of a command; it begins with http, so it is no flag.
    const child = spawn(program, [url.href], {
      ...{ detached: true, stdio: 'ignore', env: childEnvironment(environment, {}) },
    });
    child.on('error', (error) => onFailure(error.message));
    child.unref();
  };
}

const systemOpeners: Partial<Readonly<Record<NodeJS.Platform, string>>> = {
  darwin: 'open',
  linux: 'xdg-open',
  freebsd: 'xdg-open',
};
