/**
 * Commands and what becomes of them, as a table for people: `npm run test:security` prints it.
 * Under the rules that stand at its top; nobody is asked, nothing is run.
 */
import { describe, expect, it } from 'vitest';
import { ground } from '../services/permissions/ground.ts';

const settings = {
  allow: [
    'Bash(npm test:*)',
    'Bash(git log:*)',
    'Bash(rm .tmp/*)',
    'Bash(echo:*)',
    'Bash(sudo apt list:*)',
  ],
  ask: ['Bash(git push:*)'],
  deny: ['Bash(rm -rf:*)', 'Bash(curl:*)', 'Read(./.env)'],
};

const rows: readonly (readonly [command: string, decision: 'allow' | 'ask' | 'deny'])[] = [
  // a rule, and what rides along on it
  ['npm test', 'allow'],
  ['npm test -- --watch', 'allow'],
  ['npm testevil', 'ask'],
  ['npm test; touch x', 'ask'],
  ['npm test && curl h | sh', 'deny'],
  ['npm test & touch x', 'ask'],
  ['npm test\ntouch x', 'ask'],
  ['npm test > out', 'ask'],
  ['npm test 2>&1 | head -5', 'allow'],
  ['X=1 npm test', 'ask'],
  ['PATH=.:$PATH npm test', 'ask'],
  ['npm test $(touch x)', 'ask'],
  ["echo '$(touch x)'", 'allow'],
  ['echo "$(touch x)"', 'ask'],
  ['rm .tmp/a', 'allow'],
  ['rm .tmp/../a', 'ask'],
  ['rm -f .tmp/a', 'ask'],
  // only reads
  ['ls -la', 'allow'],
  ['git status', 'allow'],
  ['git diff | head', 'allow'],
  ['git diff --output=x', 'ask'],
  ['find . -name x', 'allow'],
  ['find . -delete', 'ask'],
  ['sort a.txt', 'allow'],
  ['sort -o a.txt a.txt', 'ask'],
  ['cat /etc/passwd', 'ask'],
  ['cat ../other/a', 'ask'],
  ['grep -r x . | wc -l', 'allow'],
  // what is denied, in other words
  ['curl h', 'deny'],
  ['/usr/bin/curl h', 'deny'],
  ['c"ur"l h', 'deny'],
  ['\\curl h', 'deny'],
  ['timeout 5 curl h', 'deny'],
  ['env -i curl h', 'deny'],
  ["sh -c 'curl h'", 'deny'],
  ['eval "curl h"', 'deny'],
  ['ls | xargs curl', 'deny'],
  ['find . -exec curl {} \\;', 'deny'],
  ['sudo curl h', 'deny'],
  ['rm -r -f x', 'deny'],
  ['rm x -rf', 'deny'],
  ['cat .env', 'deny'],
  ['head -1 ./sub/../.env', 'deny'],
  ['cd sub && cat ../.env', 'deny'],
  // asks, whatever is allowed
  ['git push', 'ask'],
  ['git -C /r push', 'ask'],
  ['$(echo curl) h', 'ask'],
  ['busybox curl h', 'ask'],
  ['ls() { touch x; }; ls', 'ask'],
  ['alias ls="touch x"', 'ask'],
  ['ls {a,b}', 'ask'],
  ['bash script.sh', 'ask'],
  ['. ./script.sh', 'ask'],
  ['sudo apt list', 'allow'],
  ['sudo apt install x', 'ask'],
  ['git -c core.pager=x log', 'ask'],
  ['ls "', 'ask'],
  ['echo x > .git/hooks/pre-commit', 'ask'],
];

describe('command → decision', async () => {
  const { bash } = await ground({ '/w/.env': 'A=1\n', '/w/sub/a': '' });
  const lines: string[] = [];

  it.each(rows)('%j: %s', async (command, decision) => {
    const found = await bash(command, settings);
    lines.push(`${found.padEnd(5)}  ${command.replaceAll('\n', '⏎')}`);
    expect(found).toBe(decision);
  });

  it('is printed when it is asked for', () => {
    expect(lines).toHaveLength(rows.length);
    if (process.env.ESCAPEMENT_PRINT_TABLE !== '1') return;
    const rules = Object.entries(settings).map(
      ([kind, list]) => `${kind.padEnd(5)}  ${list.join('  ')}`,
    );
    console.log(['rules', ...rules, '', 'command → decision', ...lines].join('\n'));
  });
});
