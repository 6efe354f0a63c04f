/** The two homes that the engine knows: the person's and its own. Each is found here and only here. */
import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What `~` stands for: to rules as to the shell, which asks the system where `HOME` is not set (in
 * a service, in a container). A guess would let `~/.ssh` pass for a folder of the project.
 * @returns an absolute path.
 */
export function userHomeOf({ HOME }: Environment): string {
  if (HOME !== undefined && isAbsolute(HOME)) return HOME;
  try {
    return userInfo().homedir || '/';
  } catch {
    return '/'; // nobody's: a user without an entry, and what a shell then takes
  }
}

/** `$ESCAPEMENT_HOME`, or its place where none is named: sessions, settings, trust, grants. */
export const engineHomeOf = (environment: Environment): string =>
  environment.ESCAPEMENT_HOME || join(userHomeOf(environment), '.escapement');
