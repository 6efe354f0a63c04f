/** `--inspect`: an inspector beside a run of the CLI. */
import type { Inspector } from '../inspect/start-inspector.ts';
import type { QueryEngine } from '../query-engine.ts';
import type { CliContext } from './context.ts';

export interface InspectRequest {
  /** 0: any that is free. */
  readonly port: number;
  /** The page may hold the run and send events to it. */
  readonly control: boolean;
  /** What the tests have taken, from a file. */
  readonly coverage?: string;
}

/** What a run does with its engines, as soon as they are there. */
export interface RunWatch {
  readonly url: string;
  readonly engine: (engine: QueryEngine) => void;
  /** The page hears the rest, and that it is the end. */
  readonly close: () => Promise<void>;
}

/** Says on stderr where to look. @throws UsageError when the port is taken. */
export async function watchRun(
  { port, control, coverage }: InspectRequest,
  { environment, warn }: Pick<CliContext, 'environment' | 'warn'>,
): Promise<RunWatch> {
  const { startInspector } = await import('../inspect/start-inspector.ts');
  const inspector: Inspector = await startInspector(undefined, {
    ...{ port, environment, hold: control, send: control, title: 'escapement' },
    ...(coverage === undefined ? {} : { coverage }),
  });
  warn(`inspector: ${inspector.url}${control ? ' (may hold this run)' : ''}`);
  return {
    url: inspector.url,
    engine: (engine) => void inspector.attach(engine),
    close: () => inspector.close(),
  };
}
