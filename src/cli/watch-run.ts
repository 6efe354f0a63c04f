/** `--inspect`: an inspector beside a run of the CLI. */
import type { Inspector } from '../inspect/start-inspector.ts';
import type { QueryEngine } from '../query-engine.ts';
import { UsageError } from '../usage-error.ts';
import type { CliContext } from './context.ts';
import { mustBeReadable } from './coverage-file.ts';
import { BRIDGE, installedBridge } from './installed-bridge.ts';

export interface InspectRequest {
  /** 0: any that is free. */
  readonly port: number;
  /** The page may hold the run. */
  readonly hold: boolean;
  /** The page may send events to it. */
  readonly send: boolean;
  /** What the tests have taken, from a file. */
  readonly coverage?: string;
  /** A site whose pages may look on through @xstate/inspect. */
  readonly origin?: string;
}

/** What a run does with its engines, as soon as they are there. */
export interface RunWatch {
  readonly url: string;
  readonly engine: (engine: QueryEngine) => void;
  /** The page hears the rest, and that it is the end. */
  readonly close: () => Promise<void>;
}

/** Says on stderr where to look. @throws UsageError when the port is taken, or a file is missing. */
export async function watchRun(
  { port, hold, send, coverage, origin }: InspectRequest,
  { environment, warn }: Pick<CliContext, 'environment' | 'warn'>,
): Promise<RunWatch> {
  if (coverage !== undefined) await mustBeReadable('--inspect-coverage', coverage);
  const { startInspector } = await import('../inspect/start-inspector.ts');
  const v4 = await installedBridge();
  if (origin !== undefined && !v4) {
    throw new UsageError(`--inspect-origin needs the package ${BRIDGE}: npm install -g ${BRIDGE}`);
  }
  const inspector: Inspector = await startInspector(undefined, {
    ...{ port, environment, hold, send, title: 'escapement' },
    ...(coverage === undefined ? {} : { coverage }),
    ...(v4 ? { v4 } : {}),
    ...(origin === undefined ? {} : { v4Origins: [origin] }),
  });
  const may = [...(hold ? ['hold this run'] : []), ...(send ? ['send events to it'] : [])];
  warn(`inspector: ${inspector.url}${may.length > 0 ? ` (may ${may.join(' and ')})` : ''}`);
  if (origin !== undefined) {
    const place = `${inspector.url.replace(/^http/, 'ws')}xstate-inspect`;
    warn(`for pages of ${origin} that speak @xstate/inspect: ${place}`);
  }
  return {
    url: inspector.url,
    engine: (engine) => void inspector.attach(engine),
    close: () => inspector.close(),
  };
}
