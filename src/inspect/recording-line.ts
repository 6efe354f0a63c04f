/**
 * What a line of a recording must be, said once: for a file that is served and for one that is
 * dropped on the page. By hand and not by a library, since the page carries it.
 *
 * A recording may come from anybody. What is read of a line is checked here, so that who shows it
 * need not doubt it; fields that nobody reads are left as they stand.
 */
import { type Hello, PROTOCOL, type RecordingLine } from './protocol.ts';

/** What is wrong with a recording, where (from 1), and what to do about it. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Of a recording that was cut: what cannot be known of it. */
export const CUT = 'the recording was cut: what came after its last whole line is not known';

export interface RecordingListener {
  hello(hello: Hello): void;
  line(line: RecordingLine): void;
}

/**
 * Takes a recording line by line. The last line is known to be the last only at the end: whoever
 * wrote it may have been stopped in the middle of it, and what is before it is as good as ever.
 */
export class RecordingReader {
  readonly #listener: RecordingListener;
  #before: { readonly text: string; readonly at: number } | undefined;
  #hasHello = false;
  #at = 0;

  constructor(listener: RecordingListener) {
    this.#listener = listener;
  }

  /** @throws RecordingError of the line before this one. */
  take(text: string): void {
    this.#at += 1;
    if (text.trim() === '') return;
    if (this.#before) this.#read(this.#before);
    this.#before = { text, at: this.#at };
  }

  /** @returns whether its last line was cut. @throws RecordingError also for an empty one. */
  end(): { readonly isCut: boolean } {
    if (!this.#before) throw new RecordingError(1, 'is empty: export the recording again');
    if (this.#hasHello && parsed(this.#before.text) === undefined) return { isCut: true };
    this.#read(this.#before);
    return { isCut: false };
  }

  #read({ text, at }: { readonly text: string; readonly at: number }): void {
    const said = parsed(text);
    if (!isFields(said)) {
      const what = this.#hasHello ? 'is no JSON object: export the recording again' : NO_RECORDING;
      throw new RecordingError(at, what);
    }
    if (!this.#hasHello) {
      this.#hasHello = true;
      this.#listener.hello(helloIn(said, at));
      return;
    }
    const line = lineIn(said, at);
    if (line) this.#listener.line(line);
  }
}

const NO_RECORDING =
  'is no JSON and no recording of an inspector: export one with the page, or name a session';

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function helloIn(said: Fields, at: number): Hello {
  const { protocol } = said;
  if (typeof protocol !== 'number') {
    throw new RecordingError(
      at,
      "is no recording of an inspector: export one with the page's button, or name a session",
    );
  }
  if (protocol > PROTOCOL) {
    throw new RecordingError(
      at,
      `was recorded by a newer version (protocol ${protocol}, this one reads up to ${PROTOCOL}): update escapement`,
    );
  }
  const found = hello(said);
  if (found) throw new RecordingError(at, notSound('first line', found));
  return said as unknown as Hello;
}

/** @returns where a value is not what it must be, and what it must be. Nothing: it is sound. */
type Check = (value: unknown) => Fault | undefined;
interface Fault {
  readonly at: readonly (string | number)[];
  readonly what: string;
}
const fault = (what: string): Fault => ({ at: [], what });

const text: Check = (value) => (typeof value === 'string' ? undefined : fault('must be a text'));
const number: Check = (value) =>
  typeof value === 'number' ? undefined : fault('must be a number');
const place: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? undefined : fault('must be a place');
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null ? undefined : check(value);

const list =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return fault('must be a list');
    for (const [at, one] of value.entries()) {
      const found = check(one);
      if (found) return { ...found, at: [at, ...found.at] };
    }
    return undefined;
  };

const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) => {
    if (!isFields(value)) return fault('must be an object');
    for (const [name, check] of Object.entries(checks)) {
      const found = check(Object.hasOwn(value, name) ? value[name] : undefined);
      if (found) return { ...found, at: [name, ...found.at] };
    }
    return undefined;
  };

const texts = list(text);
const located = { seq: place, instance: text };
const entry = { ...located, at: number };
const ops = list(
  fields({ op: text, path: list((key) => (typeof key === 'number' ? undefined : text(key))) }),
);
const tokens = fields({ input: number, output: number, cacheRead: number, cacheWrite: number });
const node = {
  ...{ id: text, key: text, parent: orNull(text), tags: texts },
  invoke: list(fields({ src: text })),
};
const edge = { id: text, source: text, target: text, event: text, actions: texts };

const hello = fields({
  ...{ title: text, charts: texts, unknown: maybe(texts) },
  base: fields({
    seq: place,
    instances: list(
      fields({
        instance: fields({ instance: text, title: text }),
        steps: number,
        tokens,
        usd: number,
      }),
    ),
  }),
});

/** As much of each kind as is read, by whoever reads it. */
const kinds: Readonly<Record<RecordingLine['kind'], Check>> = {
  chart: fields({
    chart: fields({ key: text, id: text, nodes: list(fields(node)), edges: list(fields(edge)) }),
    svg: maybe(text),
  }),
  context: fields(located),
  body: fields({ id: text, ops, moreOps: number, sameMessages: number }),
  instance: fields({
    ...{ ...entry, role: text, title: text, status: text, startedAt: number },
    ...{ parent: orNull(text), chart: orNull(text) },
  }),
  step: fields({
    ...{ ...entry, n: place, event: text, status: text, diff: ops, moreOps: number },
    ...{ from: texts, on: texts, to: texts, actions: texts, edges: list(fields({ id: text })) },
  }),
  message: fields({
    ...{ ...entry, uuid: text, effect: text, speaker: text, gist: text, affects: texts },
    blocks: list(fields({ type: text })),
  }),
  request: fields({
    ...{ ...entry, id: text, querySource: text, model: text, previous: orNull(text) },
    ...{ number, messages: number, tools: number, maxTokens: number },
  }),
  answer: fields({ ...entry, request: text, ms: number, usage: tokens, usd: orNull(number) }),
  service: fields({
    ...{ ...entry, id: text, name: text, attempt: number, status: text, startedAt: number },
  }),
  deadline: fields({ ...entry, id: text, name: text, ms: number, status: text, startedAt: number }),
  control: fields({ ...entry, did: text, what: text }),
  note: fields({ ...entry, level: text, text }),
};

/** What a newer version may have added is passed over; what this one knows must be sound. */
function lineIn(said: Fields, at: number): RecordingLine | undefined {
  const { kind } = said;
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) return undefined;
  const found = kinds[kind as RecordingLine['kind']](said);
  if (found) throw new RecordingError(at, notSound(kind, found));
  return said as unknown as RecordingLine;
}

function notSound(what: string, { at, what: must }: Fault): string {
  const where = at.length === 0 ? '' : `${at.join('.')}: `;
  return `the ${what} is not sound (${where}${must}): export the recording again`;
}
