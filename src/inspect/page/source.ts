/** Where a run comes from: the server that this page was opened from, or a recording. */
import { previewAt } from '../preview.ts';
import {
  type Batch,
  type BodyLine,
  type ChartAnswer,
  type ChartLine,
  type Command,
  type CommandAnswer,
  type ContextLine,
  type ControlState,
  type Coverage,
  type Entry,
  type Hello,
  type Path,
  type Piece,
  type RecordingLine,
  type RequestDiff,
  routes,
  type Sendable,
  TOKEN_HEADER,
} from '../protocol.ts';
import { CUT, RecordingReader } from '../recording-line.ts';

export interface Listener {
  hello(hello: Hello): void;
  batch(batch: Batch): void;
  control(state: ControlState): void;
  /** The connection: `lost` may come back, `ended` never does. */
  status(status: 'connected' | 'lost' | 'ended', text?: string): void;
}
/** *Contract:* pieces never reject; what is not to be had is told in `missing`. */
export interface Source {
  readonly kind: 'live' | 'recording';
  open(listener: Listener): void;
  close(): void;
  chart(key: string): Promise<ChartAnswer | undefined>;
  context(seq: number, path: Path): Promise<Piece>;
  event(seq: number, path: Path): Promise<Piece>;
  message(seq: number, path: Path): Promise<Piece>;
  request(id: string, path: Path): Promise<Piece>;
  requestDiff(id: string): Promise<RequestDiff>;
  coverage(chart: string): Promise<Coverage | undefined>;
  sendable(instance: string): Promise<Sendable | undefined>;
  command(command: Command): Promise<CommandAnswer>;
}

/** The server, over SSE and GET. Addresses are relative: the token is in the page's own. */
export class LiveSource implements Source {
  readonly kind = 'live';
  private stream: EventSource | undefined;

  open(listener: Listener): void {
    const stream = new EventSource(routes.events);
    this.stream = stream;
    const data = <T>(event: Event) => JSON.parse((event as MessageEvent<string>).data) as T;
    stream.addEventListener('open', () => listener.status('connected'));
    stream.addEventListener('error', () => listener.status('lost'));
    stream.addEventListener('hello', (event) => listener.hello(data(event)));
    stream.addEventListener('control', (event) => listener.control(data(event)));
    stream.addEventListener('ended', () => {
      stream.close();
      listener.status('ended');
    });
    stream.addEventListener('message', (event) => listener.batch(data(event)));
  }
  close(): void {
    this.stream?.close();
  }

  chart(key: string): Promise<ChartAnswer | undefined> {
    return get(routes.chart, { key });
  }
  context(seq: number, path: Path): Promise<Piece> {
    return piece(routes.context, { seq, path });
  }
  event(seq: number, path: Path): Promise<Piece> {
    return piece(routes.event, { seq, path });
  }
  message(seq: number, path: Path): Promise<Piece> {
    return piece(routes.message, { seq, path });
  }
  request(id: string, path: Path): Promise<Piece> {
    return piece(routes.request, { id, path });
  }
  async requestDiff(id: string): Promise<RequestDiff> {
    const answer = await get<RequestDiff>(routes.requestDiff, { id });
    return answer ?? noDiff(id, UNREACHABLE);
  }
  coverage(chart: string): Promise<Coverage | undefined> {
    return get(routes.coverage, { chart });
  }
  sendable(instance: string): Promise<Sendable | undefined> {
    return get(routes.sendable, { instance });
  }
  async command(command: Command): Promise<CommandAnswer> {
    const token = location.pathname.split('/')[1] ?? '';
    try {
      const answer = await fetch(routes.command, {
        method: 'POST',
        headers: { 'content-type': 'application/json', [TOKEN_HEADER]: token },
        body: JSON.stringify(command),
      });
      return (await answer.json()) as CommandAnswer;
    } catch {
      return { ok: false, why: UNREACHABLE };
    }
  }
}

const UNREACHABLE = 'the server does not answer';
const noDiff = (id: string, missing: string): RequestDiff => ({
  id,
  previous: null,
  ops: [],
  moreOps: 0,
  sameMessages: 0,
  missing,
});

type Query = Readonly<Record<string, string | number | Path>>;
async function get<T>(route: string, query: Query): Promise<T | undefined> {
  const words = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
  try {
    const answer = await fetch(`${route}?${new URLSearchParams(words)}`);
    return answer.ok && answer.status !== 204 ? ((await answer.json()) as T) : undefined;
  } catch {
    return undefined;
  }
}
async function piece(route: string, query: Query & { path: Path }): Promise<Piece> {
  return (
    (await get<Piece>(route, query)) ?? { path: query.path, value: null, missing: UNREACHABLE }
  );
}

/** Something that was dropped on the page, or is inside it. */
export class RecordingSource implements Source {
  readonly kind = 'recording';
  private readonly hello: Hello;
  private readonly charts = new Map<string, ChartLine>();
  private readonly contexts: ContextLine[] = [];
  private readonly bodies = new Map<string, BodyLine>();
  private readonly entries: Entry[] = [];

  /** @throws RecordingError in words for the reader, when the text is no recording. */
  constructor(text: string) {
    let first: Hello | undefined;
    const reader = new RecordingReader({
      hello: (hello) => {
        first = hello;
      },
      line: (line) => this.sort(line),
    });
    for (const line of text.split('\n')) reader.take(line);
    const { isCut } = reader.end();
    if (first === undefined) throw new Error('a recording that was read has no first line');
    const unknown = [...(first.unknown ?? []), ...(isCut ? [CUT] : [])];
    this.hello = { ...first, unknown };
  }

  private sort(line: RecordingLine): void {
    if (line.kind === 'chart') this.charts.set(line.chart.key, line);
    else if (line.kind === 'context') this.contexts.push(line);
    else if (line.kind === 'body') this.bodies.set(line.id, line);
    else this.entries.push(line);
  }

  open(listener: Listener): void {
    listener.hello(this.hello);
    listener.batch({ entries: this.entries, charts: [...this.charts.keys()] });
    listener.status('ended', 'recording');
  }
  close(): void {}

  chart(key: string): Promise<ChartAnswer | undefined> {
    return Promise.resolve(this.charts.get(key));
  }
  context(seq: number, path: Path): Promise<Piece> {
    const step = this.entries.find((entry) => entry.seq === seq);
    const kept = this.contexts.findLast(
      (line) => line.seq <= seq && line.instance === step?.instance,
    );
    const missing = 'the recording holds no context for this step';
    if (kept === undefined) return Promise.resolve({ path, value: null, missing });
    const value = previewAt(kept.value, path);
    const whose = this.entries.find((entry) => entry.seq === kept.seq);
    const isOther = kept.seq !== seq && whose?.kind === 'step';
    return Promise.resolve({
      ...{ path, value: value ?? null },
      ...(isOther ? { fromStep: whose.n } : {}),
    });
  }
  event(seq: number, path: Path): Promise<Piece> {
    const step = this.entries.find((entry) => entry.seq === seq);
    const whole = step?.kind === 'step' ? step.eventPreview : null;
    return Promise.resolve({ path, value: previewAt(whole, path) ?? null });
  }
  message(seq: number, path: Path): Promise<Piece> {
    const entry = this.entries.find((one) => one.seq === seq);
    const whole = entry?.kind === 'message' ? entry.details : null;
    return Promise.resolve({ path, value: previewAt(whole, path) ?? null });
  }
  request(_id: string, path: Path): Promise<Piece> {
    const missing = 'a recording holds what changed from request to request, not the whole body';
    return Promise.resolve({ path, value: null, missing });
  }
  requestDiff(id: string): Promise<RequestDiff> {
    const missing = 'the recording does not hold the body of this request';
    return Promise.resolve(this.bodies.get(id) ?? noDiff(id, missing));
  }
  coverage(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  sendable(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  command(): Promise<CommandAnswer> {
    return Promise.resolve({ ok: false, why: 'this is a recording: nothing runs' });
  }
}
