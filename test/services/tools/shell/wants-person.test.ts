import { describe, expect, it } from 'vitest';
import { deadlineHint } from '../../../../services/tools/shell/wants-person.ts';

describe('why a command came to its deadline', () => {
  it.each([
    ['./install.sh', 'Overwrite? [y/N] ', 'a question'],
    ['git push', "Password for 'https://a@b.c': ", 'a question'],
    ['ssh-keygen', 'Enter passphrase (empty for no passphrase): ', 'a question'],
    ['./x', 'Press any key to go on...', 'a question'],
    ['cd src && vim a.ts', '', 'vim wants a person'],
    ['sudo less log', '', 'less wants a person'],
    ['npm run dev', 'listening on 3000', 'run_in_background'],
    ['tsc --watch', '', 'run_in_background'],
    ['tail -n 5 -f log; true', 'x', 'run_in_background'],
    ['tail -n 5 log; rm -f log', 'x', undefined],
    ['make all', 'cc -c password.c', undefined],
    ['cargo build --release', 'Compiling vim v1', undefined],
    ['grep less notes', '', undefined],
  ])('%s, %j: %s', (command, output, expected) => {
    const hint = deadlineHint(command, output);
    if (expected === undefined) expect(hint).toBeUndefined();
    else expect(hint).toContain(expected);
  });
});
