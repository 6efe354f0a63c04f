/**
 * The inspector: look at a session, or at any XState 5 machine, while it runs or afterwards. On this
 * machine only, without internet, and without making the run wait.
 *
 * @example Look at an engine.
 * ```ts
 * import { startInspector } from 'escapement/inspect';
 *
 * const inspector = await startInspector(engine);
 * console.error(`look at ${inspector.url}`);
 * ```
 *
 * @example Look at a machine of your own.
 * ```ts
 * const inspector = await startInspector();
 * const actor = createActor(machine, { inspect: inspector.inspect });
 * ```
 */
export { chartOf } from './chart-of.ts';
export { type InspectJournalOptions, runFromJournal } from './from-journal.ts';
export { preview } from './preview.ts';
export type * from './protocol.ts';
export { readRecording } from './recorded-run.ts';
export type { Run } from './run.ts';
export {
  type CreateXstateBridge,
  type InspectedEngine,
  type Inspector,
  type InspectorOptions,
  serveRun,
  startInspector,
  type XstateBridge,
} from './start-inspector.ts';
