/** How the shell of a command is started: as it is, or behind the fence of the session. */
import { fenced, type Launch, sandboxState, temporaryFolder } from '../../sandbox/sandbox.ts';
import type { ToolContext } from '../tool.ts';
import { shellArguments } from './shell-script.ts';

export type ShellLaunch =
  | { readonly ok: true; readonly launch: Launch }
  /** Nothing was started, and nothing may be. */
  | { readonly ok: false; readonly message: string };

/** @param cwd absolute; links resolved. */
export async function launchOf(
  command: string,
  cwd: string,
  {
    sandbox,
    state,
    resultsFolder: results,
  }: Pick<ToolContext, 'sandbox' | 'state' | 'resultsFolder'>,
): Promise<ShellLaunch> {
  const launch: Launch = { program: 'bash', args: shellArguments(command) };
  if (!sandbox) return { ok: true, launch };
  const found = await sandboxState();
  if (found.isThere) {
    const temporary = await temporaryFolder(state);
    const place = { bwrap: found.program, cwd, temporary, results };
    return { ok: true, launch: fenced(launch, place, sandbox) };
  }
  if (!sandbox.isRequired) return { ok: true, launch };
  return {
    ok: false,
    message: `Not run: the settings require a sandbox for commands, and ${found.why}.`,
  };
}
