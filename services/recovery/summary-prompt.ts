/** What we ask for a summary with, what we read of the reply, and how it stands in the history. */

const SECTIONS = [
  'Goal: what the user wants in the end, and what done means.',
  'Constraints: every rule, preference and limit that the user gave, word for word in quotes, ' +
    'also what must not be touched.',
  'State of the files: each file that was read, made or changed, with its full path and what is ' +
    'in it now that matters; code that is still needed, literally.',
  'Decisions: what was chosen, what was rejected, and why.',
  'Errors and fixes: what failed with which message, and what helped. Dead ends too.',
  'Facts: commands that work, names, versions, addresses, results of tests that are needed again.',
  'Pending: what was asked for and is not done yet.',
  'Now: what was being done when this was asked, and the very next step.',
] as const;

const INSTRUCTION = `Stop working for a moment. This conversation no longer fits, and its older part \
will be replaced by what you write now. You will go on working from your summary alone, so it has to \
hold everything that the work still needs.

Answer with text only; call no tool. Write the summary between <summary> and </summary>, under \
these headings, leaving out one for which there is nothing:

${SECTIONS.map((section, at) => `${at + 1}. ${section}`).join('\n')}

Be exact where it matters (paths, names, numbers, quotes) and short elsewhere. Do not invent \
anything, and do not judge how the work went. If there is an earlier summary in this conversation, \
carry over what is still true of it.`;

/** The last message of a summary request. */
export const summaryInstruction = (custom: readonly string[]): string =>
  custom.length === 0
    ? INSTRUCTION
    : `${INSTRUCTION}\n\nBeside that:\n${custom.map((wish) => `- ${wish}`).join('\n')}`;

/**
 * The summary in a reply: what stands in its tags, or all of it when the model left them out. A
 * model that thinks aloud first does so in `<analysis>`: that is not kept.
 */
export const readSummary = (reply: string): string => {
  const inside = /<summary>([\s\S]*?)(?:<\/summary>|$)/.exec(reply)?.[1];
  return (inside ?? reply.replace(/^\s*<analysis>[\s\S]*?<\/analysis>/, '')).trim();
};

/** What stands in the history in place of the old part. */
export const summaryText = (summary: string, messagesDropped: number): string => {
  const gap =
    messagesDropped === 0
      ? ''
      : ` The oldest ${messagesDropped} messages were too long even for that: nothing is known of them.`;
  return `The older part of this conversation did not fit any more. This is its summary, written by \
you; what comes after it is word for word.${gap}

<summary>
${summary}
</summary>

Go on with the work where it stood. Do not speak about the summary.`;
};
