/**
 * A second fence around shell commands, held by the kernel: what a program does inside no rule can
 * see. bubblewrap on Linux; nothing elsewhere.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, lstatSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolState } from '../tools/tool.ts';

export interface SandboxPolicy {
  /** Where there is no sandbox, no command runs. Else it runs without one. */
  readonly isRequired: boolean;
  readonly hasNetwork: boolean;
  /** Absolute folders that commands may write to, beside a temporary one of the session. */
  readonly writable: readonly string[];
  /** Absolute; neither seen nor changed by commands. Those that do not exist are passed over. */
  readonly hidden: readonly string[];
}

/** What is to be started. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
}

export type SandboxState =
  | { readonly isThere: true; readonly program: string }
  | { readonly isThere: false; readonly why: string };

/**
 * Not looked up in `PATH`: an environment that a project has a say in must not choose the fence.
 */
const programs = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'].concat(
  '/run/current-system/sw/bin/bwrap',
);
/** A namespace takes milliseconds; a kernel that hangs is no sandbox. */
const PROBE_MS = 5_000;

let probed: Promise<SandboxState> | undefined;

/** Can commands be fenced in here? Tried once for each process, with a program that does nothing. */
export function sandboxState(): Promise<SandboxState> {
  probed ??= probe(programs);
  return probed;
}

async function probe(candidates: readonly string[]): Promise<SandboxState> {
  if (process.platform !== 'linux') {
    return { isThere: false, why: `there is none for ${process.platform}, only for Linux` };
  }
  const program = candidates.find(isProgram);
  if (program === undefined) {
    return { isThere: false, why: 'bubblewrap is not installed (apt-get install bubblewrap)' };
  }
  const args = [...namespaces(false), '--ro-bind', '/', '/', '--proc', '/proc', '/bin/true'];
  return new Promise((resolve) => {
    execFile(program, args, { timeout: PROBE_MS }, (error, _, stderr) => {
      if (!error) return resolve({ isThere: true, program });
      const cause = stderr.trim().split('\n')[0] || error.message;
      resolve({ isThere: false, why: `bubblewrap does not work here: ${cause}` });
    });
  });
}

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Other processes, the network and the kernel's names are out of sight; it ends when we do. */
const namespaces = (hasNetwork: boolean): readonly string[] => [
  '--unshare-all',
  ...(hasNetwork ? ['--share-net'] : []),
  '--die-with-parent',
  '--cap-drop',
  'ALL',
];

/** Below a writable folder: what would run code later, or change what may run. */
const neverWritten: readonly string[] = [
  ...['.git/hooks', '.git/config', '.git/info', '.git/modules', '.gitmodules', '.gitconfig'],
  ...['.claude', '.mcp.json', '.escapement', '.ssh', '.vscode', '.idea', '.husky', '.envrc'],
  ...['.npmrc', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile', '.zshrc'],
  ...['.zprofile', '.zshenv', '.zlogin', '.zlogout', '.ripgreprc'],
];

export interface FencePlace {
  readonly bwrap: string;
  /** Absolute, as are all. */
  readonly cwd: string;
  readonly temporary: string;
  /** Long results of this session: read-only, also where they lie in what is hidden. */
  readonly results: string;
}

/** The same command behind the fence. Pure but for looking which of the paths exist. */
export function fenced(
  { program, args }: Launch,
  place: FencePlace,
  policy: SandboxPolicy,
): Launch {
  const writable = policy.writable.filter((folder) => kindOf(folder) === 'folder');
  return {
    program: place.bwrap,
    args: [
      ...namespaces(policy.hasNetwork),
      ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
      // A read-only mount does not keep anybody from talking to a daemon through its socket.
      ...['--tmpfs', '/run', ...(policy.hasNetwork ? resolverFiles : [])],
      ...['--bind', place.temporary, '/tmp', '--bind', place.temporary, '/var/tmp'],
      ...['--setenv', 'TMPDIR', '/tmp', '--unsetenv', 'SSH_AUTH_SOCK'],
      ...['--unsetenv', 'DBUS_SESSION_BUS_ADDRESS'],
      ...writable.flatMap((folder) => ['--bind', folder, folder]),
      ...writable.flatMap(protectedIn),
      ...policy.hidden.filter((path) => !holdsAny(path, writable)).flatMap(hide),
      ...['--ro-bind-try', place.results, place.results],
      ...['--chdir', place.cwd, program, ...args],
    ],
  };
}

/** A folder that is worked in is not hidden by hiding one above it. */
const holdsAny = (path: string, folders: readonly string[]) =>
  folders.some((folder) => `${folder}/`.startsWith(`${path}/`));

const resolverFiles = ['/run/systemd/resolve', '/run/NetworkManager', '/run/resolvconf'].flatMap(
  (folder) => ['--ro-bind-try', folder, folder],
);

/** `.git` becomes a mount of its own, or it could be renamed and made anew. */
function protectedIn(folder: string): readonly string[] {
  const git = join(folder, '.git');
  const kind = kindOf(git);
  return [
    ...(kind === 'folder' ? ['--bind', git, git] : kind === 'file' ? ['--ro-bind', git, git] : []),
    ...neverWritten.flatMap((name) => {
      const path = join(folder, name);
      return kindOf(path) === undefined ? [] : ['--ro-bind', path, path];
    }),
  ];
}

function hide(path: string): readonly string[] {
  switch (kindOf(path)) {
    case 'folder':
      return ['--tmpfs', path];
    case 'file':
      return ['--ro-bind', '/dev/null', path];
    case undefined:
      return [];
  }
}

/** Links are passed over: a mount follows them, and what they lead to is fenced as what it is. */
function kindOf(path: string): 'folder' | 'file' | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return 'folder';
  return stats?.isFile() ? 'file' : undefined;
}

/** The temporary folder of a session's commands, 0700; it goes with the session. */
export async function temporaryFolder(state: ToolState): Promise<string> {
  const kept = state.get<{ folder: Promise<string> }>(
    'sandbox-temporary-folder',
    () => ({ folder: mkdtemp(join(tmpdir(), 'escapement-sandbox-')) }),
    async ({ folder }) => {
      await rm(await folder, { recursive: true, force: true });
    },
  );
  return kept.folder;
}
