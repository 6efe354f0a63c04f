/** `write it all down +500k`: output tokens that a person grants at the end of a prompt. */

const UNIT = { '': 1, k: 1_000, m: 1_000_000 } as const;

/** @returns tokens, or `undefined` when the prompt does not end in a budget. */
export function budgetInPrompt(text: string): number | undefined {
  const match = /(?:^|\s)\+(\d+(?:\.\d+)?)([km]?)\s*$/i.exec(text);
  if (!match) return undefined;
  const unit = (match[2] ?? '').toLowerCase() as keyof typeof UNIT;
  const tokens = Math.round(Number(match[1]) * UNIT[unit]);
  return tokens > 0 && Number.isSafeInteger(tokens) ? tokens : undefined;
}
