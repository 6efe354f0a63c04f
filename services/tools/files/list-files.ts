import type { IgnoreScope } from './ignored.ts';
import { WALK_ENTRIES_MAX } from './limits.ts';
import { commonArguments, type Environment, ripgrepsIn, runRipgrep } from './ripgrep.ts';
import { type Shortfall, walkFiles } from './walk.ts';

export interface FileList {
  /** Relative to the folder, with `/`. */
  readonly paths: readonly string[];
  readonly shortfall: Shortfall | undefined;
}

interface ListRequest {
  readonly root: string;
  readonly scope: IgnoreScope;
  readonly matches: (path: string) => boolean;
  readonly pathsMax: number;
  readonly signal: AbortSignal;
}

/** Files below a folder that match, with ripgrep where there is one: it walks in parallel. */
export const listFiles = async (request: ListRequest, env: Environment): Promise<FileList> => {
  for (const program of await ripgrepsIn(env)) {
    const list = await listWithRipgrep(request, program, env);
    if (list) return list;
  }
  return listByWalking(request);
};

/** `undefined`: this program can not be started. */
export const listWithRipgrep = async (
  { root, scope, matches, pathsMax, signal }: ListRequest,
  program: string,
  env: Environment,
): Promise<FileList | undefined> => {
  const paths: string[] = [];
  let seen = 0;
  let rest: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer): boolean => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = bytes.indexOf(0); to !== -1; to = bytes.indexOf(0, from)) {
      const path = bytes.toString('utf8', from, to).replace(/^\.\//, '');
      from = to + 1;
      seen += 1;
      if (matches(path)) paths.push(path);
      if (paths.length >= pathsMax || seen >= WALK_ENTRIES_MAX) return false;
    }
    rest = bytes.subarray(from);
    return true;
  };
  const args = [...commonArguments(scope), '--files', './'];
  const end = await runRipgrep({ program, arguments: args, cwd: root, env, signal, take });
  if (end.kind === 'not started') return undefined;
  const shortfall = end.kind === 'stopped' ? (signal.aborted ? 'time' : 'amount') : undefined;
  return { paths, shortfall };
};

export const listByWalking = async ({
  root,
  scope,
  matches,
  pathsMax,
  signal,
}: ListRequest): Promise<FileList> => {
  const paths: string[] = [];
  const walk = walkFiles(root, scope, signal);
  for (let step = await walk.next(); ; step = await walk.next()) {
    if (step.done) return { paths, shortfall: step.value };
    if (!matches(step.value)) continue;
    paths.push(step.value);
    if (paths.length >= pathsMax) {
      await walk.return(undefined);
      return { paths, shortfall: 'amount' };
    }
  }
};
