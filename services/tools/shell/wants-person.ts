/** Why a command may have come to its deadline: a guess, said as one. */

/** The end of what was printed looks like a question. */
const QUESTIONS: readonly RegExp[] = [
  /\b(?:password|passphrase|passcode|username|login)\b[^\n]{0,80}[:?]\s*$/i,
  /[[(]\s*(?:y(?:es)?\s*\/\s*n(?:o)?|yes\/no\/\[fingerprint\])\s*[\])][^\n]{0,20}$/i,
  /\bpress (?:any key|enter|return)\b[^\n]{0,60}$/i,
  /\b(?:continue|proceed|overwrite|are you sure)\b[^\n]{0,40}\?\s*$/i,
  /\n?\(END\)\s*$/,
];

/** Programs that talk with a person, unless they are told what to do. */
const TALKERS: ReadonlySet<string> = new Set(
  (
    'vi vim nvim nano emacs pico less more most top htop watch screen tmux ssh telnet ftp sftp ' +
    'passwd su fzf'
  ).split(' '),
);
/** Where a program's name stands: at the beginning, or after an operator. */
const PROGRAMS = /(?:^|[;&|(\n])\s*(?:sudo\s+)?([\w.-]+)(?=\s|$)/g;

/** Programs that serve or watch until somebody ends them. */
const SERVERS: readonly RegExp[] = [
  /\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:dev|start|serve|watch)\b/,
  /\btail\b[^;&|\n]*\s-\w*[fF]\b/,
  /\bdocker\s+(?:compose\s+)?logs\s+-f\b/,
  /\s--watch\b|\bhttp\.server\b|\brunserver\b|\bnodemon\b/,
];

/** @returns one sentence for the model, or `undefined`. */
export const deadlineHint = (command: string, lastOutput: string): string | undefined => {
  if (QUESTIONS.some((question) => question.test(lastOutput))) {
    return (
      'It seems to have asked a question. There is nobody to answer and stdin is empty: give the ' +
      'answer as an option (such as --yes) or in a file.'
    );
  }
  const programs = [...command.matchAll(PROGRAMS)].map(([, name]) => name);
  const talker = programs.find((name) => name !== undefined && TALKERS.has(name));
  if (talker !== undefined) {
    return `${talker} wants a person at a terminal, and there is none: use a way without dialogue.`;
  }
  if (SERVERS.some((server) => server.test(command))) {
    return 'It seems to run until it is ended: start it with run_in_background.';
  }
  return undefined;
};
