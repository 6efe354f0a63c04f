/**
 * What tells programs that nobody is there. They win over the host's environment, which comes from
 * a person's terminal (`EDITOR=vim`, `PAGER=less`); a command may set its own (`EDITOR=ed git …`).
 * A host's own `GIT_ASKPASS` and `SSH_ASKPASS` stay: editors answer for their users through them.
 */
const NOBODY_THERE = {
  TERM: 'dumb',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  AWS_PAGER: 'cat',
  // Takes the text as it is: `git rebase -i` and `git commit --amend` go on, an empty message ends.
  EDITOR: 'true',
  VISUAL: 'true',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  GIT_TERMINAL_PROMPT: '0',
  GH_PROMPT_DISABLED: '1',
  PIP_NO_INPUT: '1',
  DEBIAN_FRONTEND: 'noninteractive',
} as const;

/**
 * @param own wins over all: the `env` of the settings.
 * @param cwd bash takes its own name of the folder from here.
 */
export const shellEnvironment = (
  host: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>>,
  cwd: string,
): Record<string, string | undefined> => ({ ...host, ...NOBODY_THERE, ...own, PWD: cwd });
