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
    ...['longpaths', 'whitespace', 'protectntfs', 'protecthfs', 'compression'],
  ],
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

/**
 * The first thing in a configuration that is not known to be harmless.
 * @param isOwnFolder does `core.worktree` only say where the repository stands anyway?
 */
export function suspiciousKey(
  config: string,
  isOwnFolder: (worktree: string) => boolean = () => false,
): string | undefined {
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
    const isOwn = section === 'core' && key.toLowerCase() === 'worktree' && isOwnFolder(value);
    if (!isOwn && !isHarmless(section, name, key.toLowerCase(), value)) return `${section}.${key}`;
  }
  return undefined;
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
