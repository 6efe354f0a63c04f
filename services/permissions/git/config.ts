/** Which keys of a repository's configuration are known to start nothing and to lead nowhere. */

/** Sections whose every key is harmless for a git that looks and asks no network. */
const harmlessSections = new Set([
  ...['branch', 'user', 'color', 'column', 'advice', 'alias', 'gc', 'pack', 'index', 'pull'],
  ...['push', 'fetch', 'rebase', 'rerere', 'init', 'http', 'credential', 'maintenance'],
  ...['submodule', 'gui', 'lfs'],
]);
/** Single keys of other sections. What is not here may start a program, or be newer than we are. */
const harmlessKeys: Readonly<Record<string, readonly string[]>> = {
  core: [
    ...['repositoryformatversion', 'filemode', 'bare', 'logallrefupdates', 'ignorecase'],
    ...['precomposeunicode', 'autocrlf', 'eol', 'safecrlf', 'quotepath', 'abbrev', 'symlinks'],
    ...['sparsecheckout', 'sparsecheckoutcone', 'untrackedcache', 'preloadindex', 'fscache'],
    ...['longpaths', 'whitespace', 'protectntfs', 'protecthfs', 'compression', 'commitgraph'],
    'editor', // starts for who writes, never for who looks
  ],
  // Signing is for who writes. Checking a signature is not: neither `log.showSignature` nor programs.
  commit: ['gpgsign'],
  tag: ['gpgsign', 'forcesignannotated'],
  gpg: ['format'],
  // Only how the index is written.
  feature: ['manyfiles'],
  remote: [
    ...['url', 'pushurl', 'fetch', 'push', 'prune', 'prunetags', 'tagopt', 'mirror', 'gh-resolved'],
  ],
  extensions: ['worktreeconfig', 'objectformat', 'refstorage'],
  merge: ['ff', 'conflictstyle', 'log', 'renames'],
  diff: ['algorithm', 'renames', 'colormoved', 'mnemonicprefix', 'noprefix', 'context'],
  log: ['date', 'decorate', 'follow', 'abbrevcommit'],
  // Not `submodulesummary`, which runs git in each of them.
  status: ['showuntrackedfiles', 'branch', 'short', 'relativepaths', 'renames', 'aheadbehind'],
};
/** With a name in quotes these are drivers, and drivers are programs. */
const driverSections = new Set(['diff', 'merge']);

/** Keys whose value is a path: what the disk says of it. Without it, they are not known. */
export interface ConfiguredPaths {
  /** Does `core.worktree` only say where the repository stands anyway? */
  isOwnFolder(path: string): boolean;
  /** Is there nothing in the folder of `core.hooksPath` that a looking git runs? */
  hasNoLookingHook(path: string): Promise<boolean>;
  /** Is the list of `blame.ignoreRevsFile` in the work tree? Of another, git would tell lines. */
  isInWorkTree(path: string): Promise<boolean>;
}

/** The first thing in a configuration that is not known to be harmless. */
export async function suspiciousKey(
  config: string,
  paths?: ConfiguredPaths,
): Promise<string | undefined> {
  let section = '';
  let name: string | undefined;
  for (const raw of config.split(/\r?\n/)) {
    let line = raw.trim();
    const header = /^\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*/.exec(line);
    if (header) {
      section = (header[1] ?? '').toLowerCase();
      name = header[2];
      line = line.slice(header[0].length);
    }
    if (line === '' || /^[#;]/.test(line)) continue;
    const [, key, value = ''] = /^([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$/.exec(line) ?? [];
    // A line that goes on could hide what stands on the next one.
    if (key === undefined || line.endsWith('\\')) return line;
    const isKnown =
      isHarmless(section, name, key.toLowerCase(), value) ||
      (name === undefined &&
        paths !== undefined &&
        (await isHarmlessPath(`${section}.${key.toLowerCase()}`, value, paths)));
    if (!isKnown) return `${section}.${key}`;
  }
  return undefined;
}

/** What git would not take as it stands: quotes, comments, a home, a place of git's own. */
const isPlain = (value: string): boolean => /^[\w./@+-]+$/.test(value);

async function isHarmlessPath(
  key: string,
  value: string,
  paths: ConfiguredPaths,
): Promise<boolean> {
  if (key === 'core.worktree') return paths.isOwnFolder(value);
  if (!isPlain(value)) return false;
  if (key === 'core.hookspath') return paths.hasNoLookingHook(value);
  return key === 'blame.ignorerevsfile' && paths.isInWorkTree(value);
}

function isHarmless(
  section: string,
  name: string | undefined,
  key: string,
  value: string,
): boolean {
  if (harmlessSections.has(section)) return true;
  if (section === 'core' && key === 'fsmonitor') return /^(true|false)$/i.test(value);
  if (name !== undefined && driverSections.has(section)) return false;
  return Object.hasOwn(harmlessKeys, section) && harmlessKeys[section]?.includes(key) === true;
}
