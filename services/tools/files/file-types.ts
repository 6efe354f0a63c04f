/**
 * Kinds of files by name, for Grep's `type`: the same ones as ripgrep 15 (a test compares them),
 * and a few names more that models use. Both engines take them from here; a name that is not here
 * is left to ripgrep, which knows some two hundred.
 */
import { compileGlob, type PathMatcher } from './glob-match.ts';
import { done, fault, type Outcome } from './outcome.ts';

const MARKDOWN = '*.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn';
const CPP =
  '*.[ChH] *.[ChH].in *.[ch]pp *.[ch]pp.in *.[ch]xx *.[ch]xx.in *.cc *.cc.in *.hh *.hh.in ' +
  '*.inl';
const PYTHON = '*.py *.pyi';
const TYPESCRIPT = '*.cts *.mts *.ts *.tsx';
const SHELL =
  '*.bash *.bashrc *.csh *.cshrc *.env *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout ' +
  '.bash_profile .bashrc .cshrc .env .kshrc .login .logout .profile .tcshrc .zlogin .zlogout ' +
  '.zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout ' +
  'zprofile zshenv zshrc';

/** As in ripgrep. */
export const RIPGREP_TYPES: Readonly<Record<string, string>> = {
  c: '*.[chH] *.[chH].in *.cats',
  clojure: '*.clj *.cljc *.cljs *.cljx',
  cmake: '*.cmake CMakeLists.txt',
  cpp: CPP,
  cs: '*.cs',
  csharp: '*.cs',
  css: '*.css *.scss',
  csv: '*.csv',
  dart: '*.dart',
  docker: '*Dockerfile*',
  elixir: '*.eex *.ex *.exs *.heex *.leex *.livemd',
  erlang: '*.erl *.hrl',
  go: '*.go',
  graphql: '*.graphql *.graphqls',
  groovy: '*.gradle *.groovy',
  h: '*.h *.hh *.hpp',
  haskell: '*.c2hs *.cpphs *.hs *.hsc *.lhs',
  html: '*.ejs *.htm *.html',
  java: '*.java *.jsp *.jspx *.properties',
  js: '*.cjs *.js *.jsx *.mjs *.vue',
  json: '*.json *.sarif composer.lock',
  julia: '*.jl',
  kotlin: '*.kt *.kts',
  less: '*.less',
  lua: '*.lua',
  markdown: MARKDOWN,
  md: MARKDOWN,
  nix: '*.nix',
  php: '*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml',
  protobuf: '*.proto',
  py: PYTHON,
  python: PYTHON,
  r: '*.R *.Rmd *.Rnw *.r *.rmd *.rnw',
  rst: '*.rst',
  ruby: '*.gemspec *.rake *.rb *.rbw .irbrc Gemfile Rakefile config.ru',
  rust: '*.rs',
  sass: '*.sass *.scss',
  scala: '*.sbt *.scala',
  sh: SHELL,
  sql: '*.psql *.sql',
  svelte: '*.svelte *.svelte.ts',
  swift: '*.swift',
  toml: '*.toml Cargo.lock',
  ts: TYPESCRIPT,
  txt: '*.txt',
  typescript: TYPESCRIPT,
  vue: '*.vue',
  xml: '*.dtd *.rng *.sch *.xhtml *.xjb *.xml *.xml.dist *.xsd *.xsl *.xslt',
  yaml: '*.yaml *.yml',
  zig: '*.zig',
};
/** Asked for by models, unknown to ripgrep. */
const MORE_TYPES: Readonly<Record<string, string>> = {
  bash: SHELL,
  javascript: '*.cjs *.js *.jsx *.mjs *.vue',
  jsx: '*.jsx',
  rb: '*.rb',
  rs: '*.rs',
  tsx: '*.tsx',
  yml: '*.yaml *.yml',
};

/** Globs for names, or `undefined`: only ripgrep may know this type. */
export const globsOfType = (type: string): string[] | undefined => {
  const types = { ...RIPGREP_TYPES, ...MORE_TYPES };
  return Object.hasOwn(types, type) ? types[type]?.split(' ') : undefined;
};

/** Judges relative paths by their last part. */
export const typeFilterOf = (type: string | undefined): Outcome<PathMatcher> => {
  if (type === undefined) return done(() => true);
  const globs = globsOfType(type);
  if (!globs) return fault(`unrecognized file type: ${type}. Use glob instead, e.g. *.${type}`);
  return compileGlob(`**/{${globs.join(',')}}`);
};
