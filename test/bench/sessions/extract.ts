/**
 * A scripted model that sums up fairly: it knows nothing of what it will be asked for. It keeps what
 * is said in a way of its own (a sentence of which no other line has the shape) before what repeats
 * itself, and stops at the length that it was asked for. The same for a portion and for everything,
 * so that two ways of making room differ only in what they ask for.
 */
import type { ReceivedRequest } from '../../../src/testing/index.ts';

/** As the server counts. */
const CHARS_PER_TOKEN = 4;
/** A summary of everything is about so long, whatever it may be. */
const WHOLE_TOKENS = 6_000;

const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const { text, content } = value as { text?: unknown; content?: unknown };
  return [...textsOf(text), ...textsOf(content)];
};

/** Lines of the same shape differ in numbers only. */
const shapeOf = (line: string) => line.replaceAll(/\d+/g, '#').trim();

const wantedTokens = (texts: readonly string[]): number => {
  const asked = /Sum it up in at most ([\d,]+) tokens/.exec(texts.at(-1) ?? '')?.[1];
  return asked === undefined ? WHOLE_TOKENS : Number(asked.replaceAll(',', ''));
};

export function extract({ body }: ReceivedRequest): string {
  const texts = textsOf((body.messages as readonly unknown[] | undefined) ?? []);
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.trim() !== '');
  const count = new Map<string, number>();
  for (const line of lines) count.set(shapeOf(line), (count.get(shapeOf(line)) ?? 0) + 1);
  const ranked = [...lines.entries()].sort(
    ([a, one], [b, two]) =>
      (count.get(shapeOf(one)) ?? 0) - (count.get(shapeOf(two)) ?? 0) || a - b,
  );
  let room = wantedTokens(texts) * CHARS_PER_TOKEN;
  const kept = ranked.filter(([, line]) => {
    room -= line.length + 1;
    return room >= 0;
  });
  return kept
    .sort(([a], [b]) => a - b)
    .map(([, line]) => line.trim())
    .join('\n');
}
