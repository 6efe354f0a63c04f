/** What child processes get of the environment: shells, hooks, servers. */
import { userHomeOf } from './home-folders.ts';

/** Keys of the model are for us. A command that needs one is given it by `env` on purpose. */
const ownKeys: readonly string[] = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The host's environment without our keys, then what the host and the settings name themselves,
 * keys included. There is always a `HOME`: what `~` means to a shell is what it means to the rules.
 */
export function childEnvironment(
  environment: Environment,
  named: {
    readonly byHost?: Environment | undefined;
    readonly bySettings?: Environment | undefined;
  },
): Environment {
  const kept = Object.entries(environment).filter(([name]) => !ownKeys.includes(name));
  const all = { ...Object.fromEntries(kept), ...named.byHost, ...named.bySettings };
  return { ...all, HOME: userHomeOf(all) };
}
