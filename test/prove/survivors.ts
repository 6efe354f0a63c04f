/**
 * Mistakes in the chart that no check finds, and why that is all right. Read by a person; at most
 * ten. One that is not listed here fails the proof, and so does one that is and does not survive.
 */
export const survivors: Readonly<Record<string, string>> = {
  'sampling.streaming · person.answered · 0: “answersQuestion” always holds':
    'equivalent: `noteAnswer` closes only questions that are open',
  'toolRun · person.answered · 0: “answersQuestion” always holds':
    'nearly so: an answer to nothing would begin the deadline of the calls anew, nothing else',
};
