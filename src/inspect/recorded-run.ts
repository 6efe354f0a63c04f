/** A recording as a run: what stands in its lines can be looked at, and nothing else. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { UsageError } from '../usage-error.ts';
import { EntryList, type NewEntry } from './entry-list.ts';
import { previewAt } from './preview.ts';
import type {
  Entry,
  Hello,
  Path,
  Piece,
  Preview,
  RecordingLine,
  RequestDiff,
  Step,
} from './protocol.ts';
import { CUT, RecordingError, RecordingReader } from './recording-line.ts';
import { scrubber } from './redact.ts';
import type { DrawnChart, PieceOf, Run } from './run.ts';

/** A recording that was made on purpose may be longer than what a live run keeps. */
const BOUNDS = { stepsMax: 200_000, bytesMax: 1 << 30 };

/**
 * Reads a `.jsonl` that an inspector has exported.
 * @param warn told what is missing, when its last line was cut.
 * @throws UsageError naming file, line and remedy.
 */
export async function readRecording(
  file: string,
  warn: (text: string) => void = () => {},
): Promise<Run> {
  let run: RecordedRun | undefined;
  const reader = new RecordingReader({
    hello: (hello) => {
      run = new RecordedRun(hello);
    },
    line: (line) => run?.take(line),
  });
  try {
    for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
      reader.take(line);
    }
    const { isCut } = reader.end();
    if (!run) throw new Error('a recording that was read has no first line');
    run.isCut = isCut;
    if (isCut) warn(`${file}: was cut: what came after its last whole line is not shown`);
    return run;
  } catch (error) {
    if (error instanceof RecordingError) {
      throw new UsageError(`${file}:${error.line}: ${error.message}`);
    }
    const { code = error } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `${file}: cannot be read (${String(code)}): name a recording or a session`,
    );
  }
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

const NOT_RECORDED = 'the recording does not hold it: only every 50th context is in it, and parts';
