/**
 * Loaded into a CLI process before its own code: which transitions of the chart it took, written
 * down when it ends. What was killed has written nothing. Plain, since every start pays for it.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';

const asked = new URL(import.meta.url).searchParams;
/** @type {Record<string, number>} */
const taken = {};

/** As `edgeIdOf` of src/inspect/chart/chart.ts. @param {any} transition */
const idOf = (transition) => {
  const { source, eventType } = transition;
  const siblings = eventType === '' ? source.always : source.transitions.get(eventType);
  const index = siblings?.indexOf(transition) ?? -1;
  return index < 0 ? undefined : `${source.id}|${eventType}|${index}`;
};

subscribe('escapement:inspect', (/** @type {any} */ event) => {
  for (const transition of event._transitions ?? []) {
    const id = idOf(transition);
    if (id !== undefined) taken[id] = (taken[id] ?? 0) + 1;
  }
});

process.on('exit', () => {
  if (Object.keys(taken).length === 0) return;
  const part = { test: asked.get('test'), taken };
  try {
    writeFileSync(`${asked.get('file')}.${process.pid}.json`, JSON.stringify(part));
  } catch {
    // a test that fills the disk, or one that runs as nobody
  }
});
