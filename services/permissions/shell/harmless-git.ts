/**
 * Commands of git that only look, with the options that keep them so. Left out is what writes
 * (`--output`), starts a program (`--ext-diff`, `--textconv`, `-O` of grep, `--show-signature`),
 * goes into other repositories (`--recurse-submodules`) or reads files from elsewhere (`-O` of diff).
 */
import { allowsHarmless, type Harmless } from './harmless.ts';
import { readOptions } from './options.ts';
import type { ShellWord } from './reading.ts';

const diffShort = 'pusU:rczM::C::B::DRabwWS:G:tml:';
const diffLong =
  'patch no-patch raw patch-with-raw patch-with-stat stat:: compact-summary numstat shortstat ' +
  'dirstat:: cumulative summary name-only name-status color:: no-color color-words:: ' +
  'word-diff:: word-diff-regex: color-moved:: no-color-moved minimal patience histogram ' +
  'diff-algorithm: anchored: indent-heuristic no-indent-heuristic unified: full-index abbrev:: ' +
  'no-abbrev find-renames:: find-copies:: find-copies-harder no-renames diff-filter: ' +
  'pickaxe-regex pickaxe-all exit-code quiet no-ext-diff no-textconv text ignore-space-at-eol ' +
  'ignore-space-change ignore-all-space ignore-blank-lines ignore-cr-at-eol ' +
  'inter-hunk-context: function-context src-prefix: dst-prefix: no-prefix default-prefix ' +
  'relative:: no-relative ws-error-highlight: check ignore-submodules:: binary cc ' +
  'diff-merges: combined-all-paths';
const revisionLong =
  'all branches:: tags:: remotes:: glob: exclude: since: after: until: before: author: ' +
  'committer: grep: invert-grep all-match regexp-ignore-case extended-regexp fixed-strings ' +
  'perl-regexp basic-regexp max-count: skip: first-parent merges no-merges min-parents: ' +
  'max-parents: reverse date-order topo-order author-date-order left-right cherry cherry-pick ' +
  'cherry-mark left-only right-only boundary ancestry-path:: simplify-by-decoration ' +
  'full-history simplify-merges sparse dense show-pulls no-walk:: children parents not ' +
  'abbrev-commit no-abbrev-commit abbrev:: oneline graph no-graph format: pretty:: date: ' +
  'relative-date timestamp';
const logLong =
  `${revisionLong} ${diffLong} decorate:: no-decorate decorate-refs: decorate-refs-exclude: ` +
  'clear-decorations follow no-notes notes:: walk-reflogs source use-mailmap no-mailmap mailmap ' +
  'encoding: log-size full-diff';
const log: Harmless = { hasNumbers: true, short: `${diffShort}n:L:iEFPgq`, long: logLong };

const commands: Readonly<Record<string, Harmless>> = {
  status: {
    short: 'sbvzu::M::',
    long:
      'short branch porcelain:: long untracked-files:: ignored:: column:: no-column ahead-behind ' +
      'no-ahead-behind renames no-renames find-renames:: show-stash verbose null ' +
      'ignore-submodules::',
  },
  log,
  show: log,
  diff: { short: diffShort, long: `${diffLong} cached staged merge-base` },
  'diff-tree': { short: diffShort, long: `${diffLong} root no-commit-id always pretty:: format:` },
  shortlog: { hasNumbers: true, short: 'snec', long: `${revisionLong} summary numbered email` },
  blame: {
    short: 'bltfneswcpM::C::L:',
    long:
      'porcelain line-porcelain root show-stats score-debug show-name show-number show-email ' +
      'incremental since: abbrev: date: first-parent reverse color-lines color-by-age minimal ' +
      'ignore-rev:',
  },
  'rev-parse': {
    long:
      'abbrev-ref:: show-toplevel git-dir absolute-git-dir git-common-dir is-inside-work-tree ' +
      'is-inside-git-dir is-bare-repository is-shallow-repository verify short:: quiet symbolic ' +
      'symbolic-full-name all branches:: tags:: remotes:: show-prefix show-cdup',
  },
  'rev-list': {
    hasNumbers: true,
    short: 'n:iEFP',
    long: `${revisionLong} count objects timestamp header quiet`,
  },
  'ls-files': {
    short: 'cdmostukvfzx:',
    long:
      'cached deleted modified others ignored stage unmerged killed directory no-empty-directory ' +
      'eol full-name deduplicate exclude: exclude-standard error-unmatch with-tree: abbrev:: ' +
      'format:',
  },
  'ls-tree': {
    short: 'drtlz',
    long: 'name-only name-status full-name full-tree abbrev:: long object-only format:',
  },
  'cat-file': { short: 'pets', long: 'batch:: batch-check:: batch-all-objects' },
  'merge-base': { short: 'a', long: 'all octopus is-ancestor independent fork-point' },
  describe: {
    long:
      'all tags contains abbrev: exact-match long always dirty:: candidates: match: exclude: ' +
      'first-parent',
  },
  'name-rev': { long: 'name-only tags refs: exclude: all always undefined no-undefined' },
  grep: {
    hasNumbers: true,
    short: 'ivwxEGFPnlLhHcoIaWpqzrm:A:B:C:e:f:',
    long:
      'cached untracked no-index no-exclude-standard exclude-standard ignore-case word-regexp ' +
      'text invert-match full-name extended-regexp basic-regexp fixed-strings perl-regexp ' +
      'line-number column files-with-matches name-only files-without-match null only-matching ' +
      'count color:: no-color break heading show-function function-context context: ' +
      'after-context: before-context: threads: max-depth: max-count: and or not all-match quiet ' +
      'recursive no-recursive',
  },
  'for-each-ref': {
    long:
      'count: sort: format: points-at: merged:: no-merged:: contains:: no-contains:: ignore-case ' +
      'exclude:',
  },
  'show-ref': {
    short: 'dsq',
    long: 'heads tags branches head dereference hash:: verify quiet abbrev::',
  },
  'count-objects': { short: 'vH', long: 'verbose human-readable' },
  // Whatever is no option could be what it does (`expire`), the word after `-n`, too.
  reflog: {
    ...{ hasNumbers: true, operand: /^(?:show|HEAD|\d+)$/ },
    ...{ short: 'n::', long: 'oneline date:: format::' },
  },
  branch: {
    operandsMax: 0,
    short: 'avr',
    long:
      'list all remotes show-current no-color color:: verbose merged:? no-merged:? contains:? ' +
      'no-contains:? points-at:? sort:: format::',
  },
  tag: {
    ...{ operandsMax: 0, short: 'ln::' },
    long: 'list sort:: format:: contains:? no-contains:? merged:? no-merged:? points-at:?',
  },
  remote: { operandsMax: 0, short: 'v', long: 'verbose' },
  'check-ignore': { short: 'qvnz', long: 'quiet verbose non-matching no-index' },
  // A second word is written.
  'symbolic-ref': { operandsMax: 1, short: 'q', long: 'short quiet' },
};

/** Of commands that have commands of their own. */
const subcommands: Readonly<Record<string, Harmless>> = {
  'stash list': { ...log, operandsMax: 0 },
  'stash show': { operand: /^(?:stash@\{\d+\}|\d+)$/, short: diffShort, long: diffLong },
  'worktree list': { operandsMax: 0, short: 'vz', long: 'porcelain verbose' },
};

/** Placeholders of a format that ask gpg, which writes to the home folder. */
const signature = /%G|%\(signature/;
/** Of all that git itself can be told before its command: these change nothing. */
const harmlessBefore = /^(--no-pager|-P|--no-optional-locks|--literal-pathspecs|--glob-pathspecs)$/;

/** @param words `git` first. */
export function isReadOnlyGit(words: readonly ShellWord[]): boolean {
  const at = words.findIndex(({ text }, index) => index > 0 && !harmlessBefore.test(text));
  const command = words[at];
  if (command?.kind !== 'literal') return false;
  const rest = words.slice(at + 1);
  if (rest.some(({ text }) => signature.test(text))) return false;
  if (command.text === 'config') return isReadOnlyConfig(rest);
  const [below, ...others] = rest;
  const sub = `${command.text} ${below?.kind === 'literal' ? below.text : ''}`;
  const subKnown = Object.hasOwn(subcommands, sub) ? subcommands[sub] : undefined;
  if (subKnown) return allowsHarmless(others, subKnown);
  const known = Object.hasOwn(commands, command.text) ? commands[command.text] : undefined;
  return known !== undefined && allowsHarmless(rest, known);
}

/** Only what says that it asks: two words without an option would set one. */
function isReadOnlyConfig(words: readonly ShellWord[]): boolean {
  const reading = readOptions(words, {
    short: 'l',
    long: 'get get-all get-regexp list show-origin',
  });
  const isOfOld = words[0]?.text.startsWith('-') === true; // `git config set …` since 2.46
  return isOfOld && reading?.names.some((name) => name !== 'show-origin') === true;
}

/** The row of a command, for those who ask what its values are. */
export function gitRow(words: readonly ShellWord[]): { row: Harmless; rest: readonly ShellWord[] } {
  const [, command, ...rest] = words;
  const name = command?.text ?? '';
  return { row: (Object.hasOwn(commands, name) && commands[name]) || {}, rest };
}
