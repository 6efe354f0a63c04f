/** What libraries say on the console while a story is told: XState warns there, and we must hear it. */

/** Of the whole test process: stories may run beside each other. */
const words: string[] = [];
let isWatching = false;

/** Warnings and errors on the console from now on. They are printed, too. */
export function consoleWordsDuring(): () => readonly string[] {
  const start = words.length;
  if (!isWatching) {
    isWatching = true;
    for (const method of ['warn', 'error'] as const) {
      const original = console[method];
      console[method] = (...said: unknown[]) => {
        words.push(said.join(' '));
        original(...said);
      };
    }
  }
  return () => words.slice(start);
}
