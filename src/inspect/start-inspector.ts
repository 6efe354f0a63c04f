/** The inspector for hosts: one call, an address to open. */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { queryMachine } from '../../machines/query.machine.ts';
import type { EngineObserver } from '../engine-events.ts';
import type { QueryHold } from '../query-hold.ts';
import { UsageError } from '../usage-error.ts';
import { type Control, obey, sendable, sendTo } from './commands.ts';
import { Hold } from './hold.ts';
import { LiveRun } from './live-run.ts';
import type { Coverage } from './protocol.ts';
import { recordingOf } from './recording.ts';
import { redacter, secretsIn } from './redact.ts';
import type { Run } from './run.ts';
import { exportedHtml, InspectorServer } from './server.ts';

/** What a session offers: `QueryEngine` does. */
export interface InspectedEngine {
  readonly sessionId: string;
  observe(observer: EngineObserver): () => void;
  hold: QueryHold | undefined;
}

/** Speaks to tools for XState 4. */
export interface XstateBridge {
  inspect(event: InspectionEvent): void;
  /** @param access `mayOnlyLook`: what it sends is not heard. */
  connect(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    access: { readonly mayOnlyLook: boolean },
  ): void;
  close(): void;
}
/** `createV4Bridge` of `escapement-xstate-inspect` is one. */
export type CreateXstateBridge = (options: {
  /** Object by object, and then text by text: nothing is sent around them. */
  readonly redact: (value: unknown) => unknown;
  readonly scrub: (json: string) => string;
  readonly allowSend: boolean;
  /** Takes what a tool sends to an actor. */
  readonly send: (actor: object, event: { readonly type: string }) => void;
}) => XstateBridge;

export interface InspectorOptions {
  /** Default: 0, any that is free. */
  readonly port?: number;
  /**
   * Default: false. An open page does not keep the process alive. True: the process lives until
   * `close`.
   */
  readonly keepAlive?: boolean;
  /**
   * Default: false. The page may hold, step and go on: the run waits for whoever looks, and the
   * process with it. The chart's timers run on a clock that can stand still, also in place of a
   * `deps.clock` of yours; deadlines of tools, hooks and streams run on.
   */
  readonly hold?: boolean;
  /**
   * With `hold`: so long a run that is held waits for a page, ms, when none is open. Then it goes on,
   * and breakpoints are gone. Default: 10,000.
   */
  readonly aloneMs?: number;
  /** Default: false. The page may send events to the machines. */
  readonly send?: boolean;
  /** Steps that are kept. Default: 2,000. */
  readonly stepsMax?: number;
  /** Of everything that is kept, roughly. Default: 32 MB. */
  readonly bytesMax?: number;
  /**
   * Takes out of contexts, events and messages what must not be seen, before anything is kept. What
   * looks like a key or a token is taken out anyway.
   * *Contract:* pure; called once for each object.
   */
  readonly redact?: (value: unknown) => unknown;
  /** Shown above the page. */
  readonly title?: string;
  /** Variables whose names say that they are secret: their values are never shown. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** A file that the tests have written: which transitions they have taken. */
  readonly coverage?: string;
  /** The protocol of @xstate/inspect beside the page: give `createV4Bridge`. */
  readonly v4?: CreateXstateBridge;
  /**
   * Pages of these sites may look on through `v4`, and send nothing, whatever else is allowed:
   * `https://stately.ai`. Default: none but ours.
   * Contexts leave for what such a page does with them.
   */
  readonly v4Origins?: readonly string[];
}

export interface Inspector {
  /** To be opened in a browser of this machine. Holds the secret: who has it may look. */
  readonly url: string;
  /** For `createActor(machine, { inspect: inspector.inspect })`. Never throws, never waits. */
  readonly inspect: (event: InspectionEvent) => void;
  /** One more engine, or an actor that runs already. @returns lets it go. */
  attach(target: InspectedEngine | AnyActorRef): () => void;
  /** The run so far, line by line. */
  recording(): AsyncGenerator<string, void, unknown>;
  /** The run so far, as one file that shows itself. */
  html(): Promise<string>;
  /** Idempotent. What is held goes on; engines and actors are let go, and nothing holds them. */
  close(): Promise<void>;
}

/** A run is held and no page is open: so long it waits for one. */
const ALONE_MS = 10_000;

/**
 * Opens an inspector on 127.0.0.1. The run never waits for it, unless `hold` allows that.
 *
 * @param target an engine, an actor of any XState 5 machine that runs already, or nothing: then
 * `inspect` is given to actors, and `attach` to engines, as they are made.
 *
 * @example
 * const inspector = await startInspector(engine);
 * console.error(`look at ${inspector.url}`);
 */
export async function startInspector(
  target?: InspectedEngine | AnyActorRef,
  options: InspectorOptions = {},
): Promise<Inspector> {
  const { environment = process.env, stepsMax, bytesMax, redact } = options;
  const run = new LiveRun({
    title: options.title ?? (target && titleOf(target)) ?? 'escapement',
    ...(target && isEngine(target) ? { sessionId: target.sessionId } : {}),
    bounds: {
      ...(stepsMax === undefined ? {} : { stepsMax }),
      ...(bytesMax === undefined ? {} : { bytesMax }),
    },
    ...(redact ? { redact } : {}),
    secrets: secretsIn(environment),
  });
  const control: Control = { hold: options.hold ?? false, send: options.send ?? false };
  // Who has left, or never came, cannot let go: a run must not wait for a page that is closed.
  const onAlone = () => {
    setTimeout(() => {
      if (!server.isWatched) hold?.abandon();
    }, options.aloneMs ?? ALONE_MS).unref();
  };
  const hold = control.hold ? holdOf(run, () => server, onAlone) : undefined;
  const bridge = options.v4?.({
    redact: redacter(redact, () => run.note('warning', 'the redact function threw')),
    ...{ scrub: run.scrub, allowSend: control.send },
    send: (actor, event) => {
      const instance = run.instanceOf(actor as AnyActorRef);
      if (instance !== undefined) sendTo(instance, event, run);
    },
  });
  const server: InspectorServer = new InspectorServer({
    ...{ run, port: options.port ?? 0, keepsAlive: options.keepAlive ?? false },
    upgradeOrigins: options.v4Origins ?? [],
    ...(control.hold || control.send ? { control: controlOf(run, hold, control, onAlone) } : {}),
    ...(options.coverage === undefined ? {} : { coverage: coverageIn(options.coverage) }),
    ...(bridge
      ? {
          onUpgrade: (request, socket, head, mayOnlyLook) =>
            bridge.connect(request, socket, head, { mayOnlyLook }),
        }
      : {}),
  });
  const url = await listening(server, options.port ?? 0);
  const inspect = (event: InspectionEvent) => {
    run.inspect(event);
    bridge?.inspect(event);
  };
  const leaves = new Set<() => void>();
  /** Lets go once: by itself, or with the inspector. */
  const letsGo = (leave: () => void) => {
    const once = () => {
      if (leaves.delete(once)) leave();
    };
    leaves.add(once);
    return once;
  };
  const attach = (one: InspectedEngine | AnyActorRef) =>
    letsGo(isEngine(one) ? attachEngine(one, run, hold, bridge) : attachActor(one, run, inspect));
  if (target) {
    attach(target);
    letsGo(endWith(target, run));
  }
  let closing: Promise<void> | undefined;
  return {
    ...{ url, inspect, attach },
    recording: () => recordingOf(run),
    html: () => exportedHtml(run),
    close: () => {
      for (const leave of [...leaves]) leave();
      hold?.abandon();
      bridge?.close();
      closing ??= server.close();
      return closing;
    },
  };
}

/** A run that is over: a recording, or an old session. */
export async function serveRun(
  run: Run,
  options: Pick<InspectorOptions, 'port' | 'keepAlive' | 'coverage'> = {},
): Promise<Pick<Inspector, 'url' | 'close'>> {
  const { port = 0, keepAlive = true, coverage } = options;
  const server = new InspectorServer({
    ...{ run, port, keepsAlive: keepAlive },
    ...(coverage === undefined ? {} : { coverage: coverageIn(coverage) }),
  });
  const url = await listening(server, port);
  return { url, close: () => server.close() };
}

const isEngine = (target: InspectedEngine | AnyActorRef): target is InspectedEngine =>
  'observe' in target && typeof target.observe === 'function';
const titleOf = (target: InspectedEngine | AnyActorRef): string =>
  isEngine(target) ? `session ${target.sessionId}` : target.id;

async function listening(server: InspectorServer, port: number): Promise<string> {
  try {
    return await server.listen();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `the inspector cannot listen on 127.0.0.1:${port} (${code}): name another port, or none`,
    );
  }
}

function attachEngine(
  engine: InspectedEngine,
  run: LiveRun,
  hold: Hold | undefined,
  bridge: XstateBridge | undefined,
): () => void {
  run.expect(queryMachine);
  if (hold) engine.hold = hold;
  const leave = engine.observe((event) => {
    run.observe(event);
    if (event.type === 'query.inspected') bridge?.inspect(event.event);
  });
  return () => {
    // somebody else may have taken it over since
    if (hold && engine.hold === hold) engine.hold = undefined;
    leave();
  };
}

/** A page is told when what it was opened for is over. */
function endWith(target: InspectedEngine | AnyActorRef, run: LiveRun): () => void {
  if (isEngine(target)) {
    return target.observe(({ type }) => {
      if (type === 'engine.closed') run.end();
    });
  }
  const end = () => run.end();
  const told = target.subscribe({ error: end, complete: end });
  return () => told.unsubscribe();
}

function attachActor(
  actor: AnyActorRef,
  run: LiveRun,
  inspect: (event: InspectionEvent) => void,
): () => void {
  run.adopt(actor);
  const seen = actor.system.inspect((event) => inspect(event));
  return () => seen.unsubscribe();
}

function holdOf(run: LiveRun, server: () => InspectorServer, onAlone: () => void): Hold {
  const hold: Hold = new Hold({
    onChange: () => server().tellControl(hold.state),
    onHeld: (instance, before) => {
      run.control('held', before ?? '', instance);
      run.hold(true);
      if (!server().isWatched) onAlone();
    },
    onGone: () => {
      run.hold(false);
      run.control('wentOn', '');
    },
  });
  return hold;
}

function controlOf(run: LiveRun, hold: Hold | undefined, allowed: Control, onAlone: () => void) {
  return {
    ...{ allowed, onAlone },
    state: () => hold?.state ?? { breakpoints: [], held: null },
    obey: (body: string) => obey(body, { run, hold, control: allowed }),
    sendable: (instance: string) => sendable(instance, run),
  };
}

/** Read at each use: the tests may run meanwhile. */
const coverageIn = (file: string) => async (): Promise<Coverage | undefined> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Coverage;
  } catch {
    return undefined;
  }
};
