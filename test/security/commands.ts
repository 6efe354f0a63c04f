// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates are those of a shell
/** Shell commands by the thousand: harmless ones, harmful ones, and every way to hide one. */
import fc from 'fast-check';

/** Change nothing, or only what the rules allow (files in `allowed/`). */
const harmless = [
  ...[
    'echo hi',
    'ls',
    'ls -la src',
    'cat a.txt',
    'grep -r a .',
    'sort a.txt',
    'head -1 a.txt',
    'wc -l *',
  ],
  ...[
    'find . -name "*.txt"',
    'git status',
    'diff a.txt b.txt',
    'pwd',
    'true',
    'date +%F',
    'echo "$HOME"',
  ],
  ...[
    'printf x',
    'uniq a.txt',
    'cut -c1 a.txt',
    'file a.txt',
    'env',
    'seq 3',
    'test -f a.txt',
    'cd src',
  ],
  ...[
    '[ -e a.txt ]',
    'cd ..',
    'touch allowed/n',
    'mkdir allowed/d',
    'echo a > /dev/null',
    'stat a.txt',
  ],
  ...[
    "echo '$(touch p)'",
    "cat <<'EOF'\n$(touch p)\nEOF",
    'echo hi # ; touch p',
    "echo 'a;b|c&&d'",
  ],
  ...['rg a', 'du -s .', 'tail -1 a.txt', 'basename a/b', 'od a.txt', 'jq . a.txt', 'md5sum a.txt'],
  ...["sed -n '1,2p' a.txt", "awk '{print $1}' a.txt", 'xxd -l 4 a.txt', 'ps aux', 'tree -L2'],
];
/** Change something that no rule allows. */
const harmful = [
  ...[
    'touch p',
    'rm a.txt',
    'rm -rf src',
    'cp a.txt c.txt',
    'mv a.txt d.txt',
    'tee t',
    'ln -s a.txt l',
  ],
  ...[
    'sed -i s/a/b/ a.txt',
    'sort -o a.txt b.txt',
    'sort -ob.txt a.txt',
    'sort --output=b.txt a.txt',
  ],
  ...[
    'uniq a.txt u.txt',
    'find . -delete',
    'find . -fprint p',
    'find . -exec touch p ;',
    'chmod 700 a.txt',
  ],
  ...[
    'find . -exec touch p \\;',
    'git init x',
    'git config a.b c',
    'truncate -s0 a.txt',
    'mkdir q',
  ],
  ...[
    'dd if=a.txt of=z',
    'install a.txt q.txt',
    `python3 -c "open('p','w')"`,
    'mktemp -p .',
    'split a.txt',
  ],
  ...[`perl -e 'open(F,">p")'`, `awk 'BEGIN{system("touch p")}'`, 'bash script.sh', './script.sh'],
  ...[
    '. ./script.sh',
    'source script.sh',
    'tar cf t.tar a.txt',
    'xargs touch < a.txt',
    'touch -- p',
  ],
  ...['tar cf /dev/null a.txt --checkpoint=1 --checkpoint-action=exec=./script.sh', 'env touch p'],
  ...[
    'sort --compress-program=./script.sh -S1 a.txt',
    'tree -o p',
    'xxd a.txt p.txt',
    'file -C -m a.txt',
  ],
  ...["sed -n '1w p' a.txt", "sed -n '1e touch p' a.txt", 'xxd a.txt -b', 'xxd -l 4 a.txt p'],
  ...[`awk '{print > "p"}' a.txt`, `awk '{print | "tee p"}' a.txt`, "sed -n '1p' -i a.txt"],
  ...[
    'touch allowed/../p',
    'touch allowed/a p',
    'touch allowed/{a,../p}',
    'mkdir allowed/d p',
    'split -b1 a.txt',
  ],
  ...[
    'touch allowed/*/../../p',
    'touch allowed/$X/../p',
    'sort --outp=p a.txt',
    'sort --compress-prog=./script.sh --buffer-size=1k a.txt',
    'xxd -ps a.txt p',
    'touch -r a.txt b.txt',
    'git -c alias.x=!touch\\ p x',
  ],
  ...[
    'git diff --output=p',
    'git log --output=p',
    'rg --pre ./script.sh a',
    'printf x | tee p',
    'cp a.txt allowed',
  ],
  ...[
    'touch ~/p',
    'touch $HOME/p',
    'touch ../out/p',
    'echo x | xargs touch',
    'date -r a.txt -s now',
    'ln a.txt h',
  ],
];
/** The same as `touch p`, said otherwise. */
const disguised = [
  ...[
    'a=touch; $a p',
    '"to"uch p',
    't\\ouch p',
    '$(echo touch) p',
    '`echo touch` p',
    '{touch,p}',
    'to?ch p',
  ],
  ...[
    '${x:=touch} p',
    'eval "tou""ch p"',
    'command touch p',
    'exec touch p',
    'coproc touch p',
    '! touch p',
  ],
  ...[
    'trap "touch p" EXIT',
    'cat <<EOF\n$(touch p)\nEOF',
    'cat <<<$(touch p)',
    'echo ${x:-$(touch p)}',
  ],
  ...[
    'echo $((a[$(touch p)]))',
    '[[ a[$(touch p)] -eq 1 ]]',
    'test -v "a[$(touch p)]"',
    'time touch p',
  ],
  ...[
    'printf -v "a[$(touch p)]" x',
    'echo "${a[$(touch p)]}"',
    'case $(touch p) in *) ;; esac',
    '(touch p)',
  ],
  ...[
    'for i in $(touch p); do :; done',
    'tou\\\nch p',
    "$'touch' p",
    "$'\\x74ouch' p",
    '/usr/bin/touch p',
  ],
  ...[
    'ls() { touch p; }; ls',
    'function ls { touch p; }; ls',
    'shopt -s expand_aliases\nalias ls="touch p"\nls',
  ],
  ...[
    'echo <(touch p)',
    'ls | touch p',
    'touch p & wait',
    'echo ${x@P}',
    "x='$(touch p)'; echo ${x@P}",
  ],
  ...[
    'declare -n r="a[$(touch p)]"; echo $r',
    'mapfile -C "touch p;" -c 1 < a.txt',
    'enable -f ./x touch',
  ],
  ...[
    'PROMPT_COMMAND="touch p" bash -ic true',
    'BASH_ENV=script.sh bash -c true',
    'PATH=.:$PATH script.sh',
  ],
  ...[
    'if true; then touch p; fi',
    'while touch p; do break; done',
    'until ! touch p; do break; done',
  ],
  ...[
    'select x in a; do touch p; break; done <<<1',
    '[ -n "$(touch p)" ]',
    'echo "`touch p`"',
    'ls "$(touch p)"',
  ],
  ...[
    'nohup touch p',
    'nice touch p',
    'timeout 1 touch p',
    'setsid touch p',
    'stdbuf -oL touch p',
    'xargs -I{} touch p <<<1',
  ],
  ...[
    'sh -c "touch p"',
    'bash -c "touch p"',
    'env -S "touch p"',
    'env -i touch p',
    'busybox touch p',
    'flock a.txt touch p',
  ],
  ...[
    'exec 3>p',
    'exec >p',
    '>p',
    '>>a.txt',
    ': >p',
    '{ :; } >p',
    'echo x 1>p',
    'echo x &>p',
    'echo x >|p',
    'echo x >&p',
  ],
  ...[
    'echo x 3<>p',
    'cat <a.txt >b.txt',
    'echo x > allowed/../p',
    'echo x >"$HOME"/p',
    "echo x >'p'",
    'echo x >p$X',
  ],
];
const redirections = [
  ...[
    ' > p',
    ' >> a.txt',
    ' 2> p',
    ' &> p',
    ' > ../out/p',
    ' > ~/p',
    ' < a.txt',
    ' 2>&1',
    ' > /dev/null',
  ],
  ...[' 2>/dev/null', ' >| p', ' <> p', ' > allowed/o', ' <<< x', ' > "p"', ' >&2', ' > $X/p'],
];
const prefixes = [
  ...[
    'A=1 ',
    'PATH=.:$PATH ',
    'BASH_ENV=./script.sh ',
    'LD_PRELOAD=./x.so ',
    'IFS=x ',
    'env ',
    'env A=1 ',
  ],
  ...[
    'timeout 1 ',
    'nohup ',
    'nice ',
    'command ',
    'builtin ',
    'exec ',
    'time ',
    '! ',
    'sudo ',
    'xargs ',
    'eval ',
  ],
  ...[
    '\\',
    'cd src && ',
    'cd ..; ',
    'cd allowed && ',
    'git -C src ',
    'stdbuf -o L ',
    'GIT_DIR=src ',
    'HOME=. ',
  ],
];
const options = [
  ...[
    ' -o p',
    ' -i',
    ' --output=p',
    ' -exec touch p \\;',
    ' -delete',
    ' -fprint p',
    ' -w p',
    ' -O p',
    ' *',
  ],
  ...[
    ' --pre=./script.sh',
    ' -f',
    ' --',
    ' -x touch',
    ' -r',
    ' -c',
    ' p',
    ' allowed/x',
    ' -D p',
    ' -u',
    ' -s now',
  ],
];
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const joins: readonly ((one: string, other: string) => string)[] = [
  (a, b) => `${a}; ${b}`,
  (a, b) => `${a} && ${b}`,
  (a, b) => `${a} || ${b}`,
  (a, b) => `${a} | ${b}`,
  (a, b) => `${a} & ${b}`,
  (a, b) => `${a}\n${b}`,
  (a, b) => `${a}\r\n${b}`,
  (a, b) => `${a} #\n${b}`,
  (a, b) => `(${a}); { ${b}; }`,
  (a, b) => `if ${a}; then ${b}; fi`,
  (a, b) => `for x in 1 2; do ${a}; ${b}; done`,
  (a, b) => `echo "$(${a})" ; ${b}`,
  (a, b) => `sh -c ${quoted(`${a}; ${b}`)}`,
  (a, b) => `f() { ${a}; }; ${b}; f`,
  (a, b) => `${a} <<E\n${b}\nE`,
  (a, b) => `case x in x) ${a};; *) ${b};; esac`,
];
const strays = [
  ...'$`"\'\\;|&<>(){}[]!#*?~= \t\n-,',
  '$(',
  '${',
  '<(',
  '>>',
  '&&',
  '\u00a0',
  '\u2028',
];

const simple = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...harmless) },
  { weight: 2, arbitrary: fc.constantFrom(...harmful) },
  { weight: 2, arbitrary: fc.constantFrom(...disguised) },
);
const decorated = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom(...prefixes)),
    simple,
    fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom(...options)),
    fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.constantFrom(...redirections)),
  )
  .map((parts) => parts.join(''));
const joined = fc
  .tuple(decorated, decorated, fc.constantFrom(...joins))
  .map(([one, other, join]) => join(one, other));
/** One character too many, anywhere. */
const damaged = fc
  .tuple(
    fc.oneof(decorated, joined),
    fc.constantFrom(...strays),
    fc.double({ min: 0, max: 1, noNaN: true }),
  )
  .map(([command, stray, where]) => {
    const at = Math.floor(where * command.length);
    return command.slice(0, at) + stray + command.slice(at);
  });

/** A command that may do anything, to a folder that is there to be broken. */
export const anyCommand: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: decorated },
  { weight: 3, arbitrary: joined },
  { weight: 3, arbitrary: damaged },
);
