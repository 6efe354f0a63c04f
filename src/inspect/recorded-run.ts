/** A recording as a run: what stands in its lines can be looked at, and nothing else. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { UsageError } from '../usage-error.ts';
import { EntryList, type NewEntry } from './entry-list.ts';
import { previewAt } from './preview.ts';
import {
  type Entry,
  type Hello,
  type Path,
  type Piece,
  PROTOCOL,
  type Preview,
  type RecordingLine,
  type RequestDiff,
  type Step,
} from './protocol.ts';
import { scrubber } from './redact.ts';
import type { DrawnChart, PieceOf, Run } from './run.ts';

/** A recording that was made on purpose may be longer than what a live run keeps. */
const BOUNDS = { stepsMax: 200_000, bytesMax: 1 << 30 };

/**
 * Reads a `.jsonl` that an inspector has exported.
 * @throws UsageError naming file, line and remedy.
 */
export async function readRecording(file: string): Promise<Run> {
  let run: RecordedRun | undefined;
  let before: { readonly line: string; readonly at: number } | undefined;
  const read = ({ line, at }: { readonly line: string; readonly at: number }) => {
    const said = parsed(line, file, at);
    if (run) take(run, said, `${file}:${at}`);
    else run = new RecordedRun(helloIn(said, file));
    return run;
  };
  let at = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
      at += 1;
      if (line.trim() === '') continue;
      if (before) run = read(before);
      before = { line, at };
    }
    // Whoever wrote it may have been ended in the middle of a line: the rest is as good as before.
    if (run && before && !isJson(before.line)) run.isCut = true;
    else if (before) run = read(before);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = error } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `${file}: cannot be read (${String(code)}): name a recording or a session`,
    );
  }
  if (!run) throw new UsageError(`${file}: is empty: export the recording again`);
  return run;
}

type Fields = Readonly<Record<string, unknown>>;

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function parsed(line: string, file: string, at: number): Fields {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Fields;
  } catch {
    // said below
  }
  throw new UsageError(`${file}:${at}: is no JSON object: export the recording again`);
}

function helloIn(said: Fields, file: string): Hello {
  const { protocol } = said;
  if (typeof protocol !== 'number') {
    throw new UsageError(
      `${file}:1: is no recording of an inspector: export one with the page's button, or name a session`,
    );
  }
  if (protocol > PROTOCOL) {
    throw new UsageError(
      `${file}:1: was recorded by a newer version (protocol ${protocol}, this one reads up to ${PROTOCOL}): update escapement`,
    );
  }
  return said as unknown as Hello;
}

const place = z.looseObject({ seq: z.int().nonnegative(), instance: z.string() });
const entry = place.extend({ at: z.number() });
/** As much of each kind as is read here; the page shows the rest as it stands. */
const lines: Readonly<Record<RecordingLine['kind'], z.ZodType>> = {
  chart: z.looseObject({
    chart: z.looseObject({
      key: z.string(),
      id: z.string(),
      nodes: z.array(z.looseObject({ id: z.string() })),
      edges: z.array(z.looseObject({ id: z.string() })),
    }),
    svg: z.string().optional(),
  }),
  context: place,
  body: z.looseObject({ id: z.string(), ops: z.array(z.looseObject({ op: z.string() })) }),
  instance: entry,
  step: entry.extend({ n: z.number(), edges: z.array(z.looseObject({ id: z.string() })) }),
  message: entry,
  request: entry,
  answer: entry,
  service: entry,
  deadline: entry,
  control: entry,
  note: entry,
};

/** What a newer version may have added is passed over; what this one knows must be sound. */
function take(run: RecordedRun, said: Fields, where: string): void {
  const { kind } = said;
  if (typeof kind !== 'string' || !Object.hasOwn(lines, kind)) return;
  const { error } = lines[kind as RecordingLine['kind']].safeParse(said);
  if (error) {
    const [issue] = error.issues;
    const at = issue?.path.join('.') ?? '';
    throw new UsageError(
      `${where}: the ${kind} is not sound (${at === '' ? '' : `${at}: `}${issue?.message}): export the recording again`,
    );
  }
  run.take(said as unknown as RecordingLine);
}

class RecordedRun implements Run {
  readonly scrub = scrubber();
  readonly list = new EntryList(BOUNDS, this.scrub);
  readonly isOver = true;
  /** Its last line has no end. */
  isCut = false;
  readonly #hello: Hello;
  readonly #charts = new Map<string, DrawnChart>();
  readonly #contexts = new Map<number, Preview>();
  readonly #bodies = new Map<string, RequestDiff>();
  /** Place in this list by the recording's own numbers: those begin where its base ends. */
  readonly #places = new Map<number, number>();

  constructor(hello: Hello) {
    this.#hello = hello;
  }

  take(line: RecordingLine): void {
    switch (line.kind) {
      case 'chart': {
        const { chart, svg } = line;
        this.#charts.set(chart.key, { chart, ...(svg === undefined ? {} : { svg }) });
        return;
      }
      case 'context':
        this.#keepContext(this.#places.get(line.seq), line.value);
        return;
      case 'body':
        this.#bodies.set(line.id, line);
        return;
      default: {
        const { seq, ...entry } = line as Entry;
        const kept = this.list.push(entry as NewEntry);
        this.#places.set(seq, kept.seq);
      }
    }
  }

  /** Of a step that is not kept there is nobody to ask for it. */
  #keepContext(seq: number | undefined, value: Preview): void {
    if (seq !== undefined && this.list.at(seq)) this.#contexts.set(seq, value);
  }

  hello(): Omit<Hello, 'control' | 'state'> {
    const { control: _, state: __, ...hello } = this.#hello;
    const base = { ...hello.base, seq: this.list.first };
    return {
      ...hello,
      base,
      charts: this.charts,
      ...(this.isCut ? { unknown: [...(hello.unknown ?? []), CUT] } : {}),
      source: hello.source === 'journal' ? 'journal' : 'recording',
    };
  }

  get charts(): readonly string[] {
    return [...this.#charts.keys()];
  }
  chart(key: string): DrawnChart | undefined {
    return this.#charts.get(key);
  }
  get requestIds(): readonly string[] {
    return [...this.#bodies.keys()];
  }
  contextAt(seq: number): Preview | undefined {
    return this.#contexts.get(seq);
  }
  onOver(): () => void {
    return () => {};
  }

  piece(of: PieceOf, path: Path): Piece {
    const older = of.what === 'context' ? this.#contextBefore(of.seq) : undefined;
    const whole = older?.value ?? this.#whole(of);
    const value = whole === undefined ? undefined : previewAt(whole, path);
    if (value === undefined) return { path, value: null, missing: NOT_RECORDED };
    return {
      ...{ path, value },
      ...(older === undefined ? {} : { fromStep: older.step }),
    };
  }

  /** The newest that is recorded before a step, when the step itself has none. */
  #contextBefore(seq: number): { readonly step: number; readonly value: Preview } | undefined {
    const asked = this.list.at(seq);
    if (asked?.kind !== 'step' || this.#contexts.has(seq)) return undefined;
    for (const kept of this.list.back(seq)) {
      const value = this.#contexts.get(kept.seq);
      if (kept.instance !== asked.instance || value === undefined) continue;
      return { step: (JSON.parse(kept.json) as Step).n, value };
    }
    return undefined;
  }

  /** It was cut when it was recorded. */
  #whole(of: PieceOf): Preview | undefined {
    switch (of.what) {
      case 'context':
        return this.#contexts.get(of.seq);
      case 'request': {
        const [first] = this.#bodies.get(of.id)?.ops ?? [];
        return first?.op === 'init' ? first.to : undefined;
      }
      case 'event': {
        const kept = this.list.at(of.seq);
        return kept?.kind === 'step' ? JSON.parse(kept.json).eventPreview : undefined;
      }
      case 'message': {
        const kept = this.list.at(of.seq);
        return kept?.kind === 'message' ? JSON.parse(kept.json) : undefined;
      }
    }
  }

  requestDiff(id: string): RequestDiff {
    return (
      this.#bodies.get(id) ?? {
        ...{ id, previous: null, ops: [], moreOps: 0, sameMessages: 0, missing: NOT_RECORDED },
      }
    );
  }
}

const CUT = 'what came after its last whole line: the recording was cut';
const NOT_RECORDED = 'the recording does not hold it: only every 50th context is in it, and parts';
