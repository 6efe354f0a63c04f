/**
 * Programs that only look, with the options that keep them so. Written with the man pages of GNU,
 * BSD and the tools themselves at hand; an option that writes, runs, waits, follows links or takes
 * names of files from elsewhere is left out.
 */
import { isOption, type OptionTable, readOptions } from './options.ts';
import type { ShellWord } from './reading.ts';

/** What a program may be called with. Every part that is given must hold. */
export interface Harmless extends OptionTable {
  /** For programs with a grammar of their own: each word looks like this. No options are read. */
  readonly each?: RegExp;
  /** All words together, one space between them; one in a word is a NUL. No options are read. */
  readonly whole?: RegExp;
  /** How many words that are no options it may have. */
  readonly operandsMax?: number;
  /** What each word that is no option has to look like. */
  readonly operand?: RegExp;
  /** None of its options does harm: a file that is named like one may be among many. */
  readonly hasNoHarm?: boolean;
}

const lookers: Harmless = { hasNoHarm: true };
const sums: Harmless = { ...lookers, short: 'btz', long: 'binary text tag zero' };
const grep: Harmless = {
  ...lookers,
  hasNumbers: true,
  short: 'EFGPivwxyzcLlqsobHhnTaUZrIe:f:m:A:B:C:d:D:',
  long:
    'extended-regexp fixed-strings basic-regexp perl-regexp regexp: file: ignore-case ' +
    'no-ignore-case invert-match word-regexp line-regexp count color:: colour:: ' +
    'files-without-match files-with-matches max-count: only-matching quiet silent no-messages ' +
    'byte-offset with-filename no-filename label: line-number initial-tab null after-context: ' +
    'before-context: context: text binary-files: devices: directories: exclude: exclude-dir: ' +
    'include: recursive line-buffered binary null-data',
};

/** Primaries of find; after them the numbers that some compare with. */
const findWord = new RegExp(
  `^(?!-)|^-\\d|^-[ugoa]+[=+][rwxst]+$|^-(?:${[
    ...['name', 'iname', 'path', 'ipath', 'wholename', 'iwholename', 'regex', 'iregex', 'lname'],
    ...['ilname', 'regextype', 'type', 'xtype', 'size', 'empty', 'perm', 'user', 'group', 'uid'],
    ...['gid', 'nouser', 'nogroup', 'links', 'inum', 'samefile', 'readable', 'writable'],
    ...['executable', 'mtime', 'mmin', 'atime', 'amin', 'ctime', 'cmin', 'newer[aBcm]?[aBcmt]?'],
    ...['anewer', 'cnewer', 'maxdepth', 'mindepth', 'depth', 'd', 'prune', 'quit', 'xdev', 'mount'],
    ...['daystart', 'noleaf', 'print', 'print0', 'printf', 'ls', 'true', 'false', 'not', 'a'],
    ...['and', 'o', 'or', 'warn', 'nowarn', 'P', 'H', 'fstype', 'used', 'E', 'x', 's'],
  ].join('|')})$`,
);

const columns =
  '(?:pid|ppid|pgid|sid|user|uid|comm|cmd|args|command|stat|state|etime|etimes|time|' +
  'pcpu|pmem|%cpu|%mem|rss|vsz|nice|ni|pri|tty|lstart|start)=?';
const columnList = `${columns}(?:,${columns})*`;
/**
 * The environment of a process is no table's business: `e` and `-o environ` are left out. When ps
 * cannot read a line as it is (`-u` with a user that is none), it reads all of it again without the
 * dashes, and `-e` is `e`: so what may fail stands without it.
 */
const psWords = new RegExp(
  '^(?:-e|-ef|-eF|-efww?|-A|-Af|-f|-a|-ax|aux|-aux|-?auxww?|auxf|ax|axf|axu|x' +
    `|(?:-e|-A|ax|-ax)o ${columnList})?(?: ?-o ${columnList})?` +
    `(?: ?-?-?p(?:id)?[ =]\\d{1,7}(?:,\\d{1,7})*)?` +
    `(?: --forest| --sort[ =][-+]?${columns}(?:,[-+]?${columns})*){0,2}$` +
    `|^-u (?:[a-df-z\\d_]+|(?:root|\\d{1,7}) -o ${columnList})$`,
);
/** Letters are not grouped: `-ps` is `-p`. What follows the file is written, though it has a dash. */
const xxdWords = /^(?:(?:-[abeiu]|-ps?|-[clsg] ?\d+)(?: |$))*(?:(?!-)\S+)?$/;
/** Lines by their numbers. Its other commands may write, run and read (`w`, `e`, `r`). */
const sedLines = '(?:\\d+(?:,(?:\\d+|\\$))?|\\$)p';
const sedWords = new RegExp(`^-n ${sedLines}(?:;${sedLines})*(?: (?!-)\\S+)*$`);
/** Fields of each line. `/inet/…` is the network to gawk. */
const field = '\\$(?:\\d+|NF)';
const awkWords = new RegExp(
  `^(?:-F ?(?!-)\\S+ )?\\{\\0*print(?:\\0+${field}(?:\\0*,\\0*${field})*)?\\0*\\}` +
    '(?: (?!-|\\/+inet)[^\\s=]+)*$',
);

/** A comment could stand before a directive, so in a program with one the words are not looked at. */
const moduleFree = new RegExp(
  '^(?![\\s\\S]*modulemeta|(?=[^#]*#)[\\s\\S]*(?:import|include)' +
    '|(?:|[\\s\\S]*[;|(])\\s*(?:import|include|module)(?!\\w))',
);

/** Programs that only look. */
export const programs: Readonly<Record<string, Harmless>> = {
  ls: {
    ...lookers,
    short: 'aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1I:w:T:',
    long:
      'all almost-all author escape block-size: ignore-backups color:: directory classify:: ' +
      'file-type format: full-time group-directories-first no-group human-readable si ' +
      'dereference hide: indicator-style: inode ignore: kibibytes numeric-uid-gid literal ' +
      'quote-name quoting-style: reverse recursive size sort: time: time-style: width: context zero',
  },
  cat: {
    ...lookers,
    short: 'AbeEnstTuv',
    long: 'show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting',
  },
  head: {
    ...lookers,
    ...{ hasNumbers: true, short: 'c:n:qvz' },
    long: 'bytes: lines: quiet silent verbose zero-terminated',
  },
  // Not `-f`, which never ends.
  tail: {
    ...{ hasNumbers: true, short: 'c:n:qvz' },
    long: 'bytes: lines: quiet silent verbose zero-terminated',
  },
  wc: { ...lookers, short: 'clmLw', long: 'bytes chars lines words max-line-length total:' },
  pwd: { ...lookers, short: 'LP' },
  cd: { ...lookers, short: 'LPe' },
  echo: { ...lookers, each: /^/ },
  true: { ...lookers, each: /^/ },
  false: { ...lookers, each: /^/ },
  printenv: { ...lookers, short: '0', long: 'null' },
  printf: { each: /^(?!-v)/ }, // assigns
  test: { each: /^(?!-[vR]$)/ }, // evaluates a subscript
  '[': { each: /^(?!-[vR]$)/ },
  which: { ...lookers, short: 'as', long: 'all' },
  type: { ...lookers, short: 'afptP' },
  command: { short: 'vV' },
  stat: {
    ...lookers,
    short: 'Lfc:t',
    long: 'dereference file-system format: printf: terse cached:',
  },
  du: {
    ...lookers,
    short: 'abB:cd:hkmPsSt:x0',
    long:
      'all apparent-size block-size: bytes total max-depth: human-readable si summarize inodes ' +
      'no-dereference separate-dirs threshold: time:: time-style: exclude: one-file-system null',
  },
  df: {
    ...lookers,
    short: 'aB:hHiklmPTt:x:',
    long:
      'all block-size: human-readable si inodes local portability print-type total type: ' +
      'exclude-type: output::',
  },
  cut: {
    ...lookers,
    short: 'b:c:d:f:nsz',
    long:
      'bytes: characters: delimiter: fields: only-delimited complement output-delimiter: ' +
      'zero-terminated',
  },
  tr: { ...lookers, short: 'cCdst', long: 'complement delete squeeze-repeats truncate-set1' },
  // Not `-r`, which follows links.
  diff: {
    short: 'abBcC:deEiI:nNpqstTuU:wW:yZ',
    long:
      'normal brief report-identical-files context:: unified:: ed rcs side-by-side width: ' +
      'left-column suppress-common-lines show-c-function show-function-line: label: expand-tabs ' +
      'initial-tab new-file ignore-case ignore-tab-expansion ignore-trailing-space ' +
      'ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines: text ' +
      'strip-trailing-cr minimal speed-large-files color:: no-dereference',
  },
  cmp: { ...lookers, short: 'bi:ln:s', long: 'print-bytes verbose bytes: quiet silent' },
  comm: {
    ...lookers,
    short: '123',
    long: 'check-order nocheck-order output-delimiter: total zero-terminated',
  },
  basename: { ...lookers, short: 'as:z', long: 'multiple suffix: zero' },
  dirname: { ...lookers, short: 'z', long: 'zero' },
  realpath: {
    ...lookers,
    short: 'eLmPsqz',
    long:
      'canonicalize-existing canonicalize-missing logical physical quiet relative-to: ' +
      'relative-base: strip no-symlinks zero',
  },
  readlink: {
    ...lookers,
    short: 'femnqsvz',
    long: 'canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent zero',
  },
  whoami: lookers,
  uname: {
    ...lookers,
    short: 'asnrvmpio',
    long: 'all kernel-name nodename kernel-release machine',
  },
  nproc: { ...lookers, long: 'all ignore:' },
  free: { ...lookers, short: 'bkmghltvw', long: 'bytes kibi mebi gibi human lohi total wide' },
  uptime: { ...lookers, short: 'ps', long: 'pretty since' },
  groups: lookers,
  tty: { ...lookers, short: 's' },
  locale: { ...lookers, short: 'akm' },
  sleep: lookers,
  seq: { ...lookers, short: 'f:s:w', long: 'format: separator: equal-width', hasNumbers: true },
  expr: { ...lookers, each: /^/ },
  grep,
  egrep: grep,
  fgrep: grep,
  rg: {
    hasNumbers: true,
    short: 'e:f:ivwxcloqsnNHIhFPSUuA:B:C:m:g:t:T:j:d:M:r:abp0.',
    long:
      'regexp: file: fixed-strings ignore-case case-sensitive smart-case invert-match ' +
      'word-regexp line-regexp count count-matches files files-with-matches files-without-match ' +
      'only-matching quiet no-messages line-number no-line-number column no-column with-filename ' +
      'no-filename heading no-heading after-context: before-context: context: max-count: glob: ' +
      'iglob: type: type-not: type-list threads: max-depth: maxdepth: max-columns: ' +
      'max-columns-preview max-filesize: replace: text binary byte-offset pretty null null-data ' +
      'hidden no-hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global ' +
      'no-ignore-dot unrestricted multiline multiline-dotall pcre2 auto-hybrid-regex engine: ' +
      'crlf color: colors: passthru trim json stats sort: sortr: vimgrep no-config no-follow ' +
      'one-file-system line-buffered encoding: debug trace',
  },
  find: { each: findWord },
  fd: {
    short: 'HIusigFapt:e:E:d:S:o:c:j:q10l',
    long:
      'hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex ' +
      'fixed-strings absolute-path full-path max-depth: min-depth: exact-depth: type: extension: ' +
      'exclude: size: changed-within: changed-before: owner: color: threads: max-results: quiet ' +
      'print0 list-details prune one-file-system strip-cwd-prefix',
  },
  // `-LR 2` is `-L 2 -R` to it, and `-R` writes.
  tree: {
    each: /^(?!-)|^-[adfxpugshDFqNQrtcUvCnSAJXi]*[LPI]$|^-[adfxpugshDFqNQrtcUvCnSAJXi]+$|^-L\d+$|^--(noreport|gitignore|prune|dirsfirst|du|si|inodes)$/,
  },
  sort: {
    short: 'bcCdfgiMhnk:mrRst:uVz',
    long:
      'ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ' +
      'ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse sort: ' +
      'version-sort check:: key: merge stable field-separator: unique zero-terminated debug ' +
      'parallel:',
  },
  uniq: {
    operandsMax: 1, // the second is written
    short: 'cdDiuf:s:w:z',
    long:
      'count repeated all-repeated:: skip-fields: group:: ignore-case skip-chars: unique ' +
      'check-chars: zero-terminated',
  },
  file: {
    short: 'bhikLNnrv0F:e:',
    long:
      'brief mime mime-type mime-encoding keep-going dereference no-dereference no-pad raw ' +
      'print0 separator: extension exclude:',
  },
  date: {
    operand: /^\+/, // any other word sets the clock
    short: 'd:uRI::',
    long: 'date: utc universal iso-8601:: rfc-3339: rfc-email debug resolution',
  },
  hostname: { short: 'fisdI', operandsMax: 0 },
  env: { operandsMax: 0 },
  jq: {
    // It can read modules and data from anywhere: with directives, which stand before all else.
    operand: moduleFree,
    short: 'cnrRjaCMSse',
    long:
      'compact-output null-input raw-output raw-input raw-output0 join-output ascii-output ' +
      'color-output monochrome-output sort-keys slurp exit-status tab indent: arg: argjson: seq ' +
      'stream stream-errors unbuffered',
  },
  xxd: { operandsMax: 1, whole: xxdWords },
  sed: { whole: sedWords },
  awk: { whole: awkWords },
  nl: { ...lookers, short: 'b:d:f:h:i:l:n:ps:v:w:' },
  tac: { ...lookers, short: 'brs:', long: 'before regex separator:' },
  rev: lookers,
  fold: { ...lookers, short: 'bsw:c:', long: 'bytes spaces width:' },
  expand: { ...lookers, short: 'it:', long: 'initial tabs:' },
  column: { ...lookers, short: 'ts:x', long: 'table separator: fillrows' },
  paste: { ...lookers, short: 'd:sz', long: 'delimiters: serial zero-terminated' },
  join: { ...lookers, short: '1:2:a:e:ij:o:t:v:z', long: 'header ignore-case' },
  look: { ...lookers, short: 'bdft:' },
  md5sum: sums,
  sha1sum: sums,
  sha256sum: sums,
  sha512sum: sums,
  cksum: lookers,
  strings: { short: 'an:t:fos:e:', long: 'all bytes: radix: print-file-name' },
  hexdump: { short: 'bcCdon:s:vx', long: 'canonical length: skip: no-squeezing' },
  od: {
    short: 'abcdfilosxA:j:N:S:t:vw::',
    long: 'address-radix: skip-bytes: read-bytes: strings:: format: output-duplicates width::',
  },
  ps: { whole: psWords },
  pgrep: {
    short: 'aflnovxcu:U:P:g:s:t:iL',
    long: 'list-full list-name full newest oldest exact count uid: euid: parent: ignore-case',
  },
};

/** Does the row allow these words? They stand after the program. */
export function allowsHarmless(words: readonly ShellWord[], rule: Harmless): boolean {
  const { each, whole, operandsMax, operand, hasNoHarm } = rule;
  // It could match a file whose name begins with a dash, which would be an option.
  if (!hasNoHarm && words.some(({ text, kind }) => kind === 'glob' && /^[*?[]/.test(text))) {
    return false;
  }
  if (words.some((word) => isOption(word) && word.kind !== 'literal')) return false;
  // A glob is any number of words.
  if (operandsMax !== undefined && words.some(({ kind }) => kind !== 'literal')) return false;
  if (whole) return whole.test(words.map(({ text }) => text.replace(/\s/g, '\0')).join(' '));
  if (each && !words.every(({ text }) => each.test(text))) return false;
  const operands = each
    ? words.filter((word) => !isOption(word))
    : readOptions(words, rule)?.operands;
  return (
    operands !== undefined &&
    (operandsMax === undefined || operands.length <= operandsMax) &&
    (operand === undefined || operands.every(({ text }) => operand.test(text)))
  );
}
