/**
 * A run as the page knows it: the list of entries, and what follows from a shorter list. `at(seq)`
 * questions are answered for a place in the list, so that going back is nothing special.
 */
import type {
  AnswerEntry,
  Base,
  Batch,
  ControlEntry,
  ControlState,
  DeadlineEntry,
  Entry,
  Hello,
  InstanceBase,
  InstanceEntry,
  MessageEntry,
  NoteEntry,
  RequestEntry,
  ServiceEntry,
  Step,
} from '../protocol.ts';

/** All that happened to one thing that is said again when it changes (a service, a deadline). */
export type Life<T> = T[];

/** Made anew when its begin is forgotten: who has counted something of it counts again. */
export interface InstanceRun {
  readonly id: string;
  entry: InstanceEntry;
  base: InstanceBase | undefined;
  readonly steps: Step[];
  readonly services: Map<string, Life<ServiceEntry>>;
  readonly deadlines: Map<string, Life<DeadlineEntry>>;
}

/** The session's own place: what belongs to no machine. */
const SESSION = '';

export class Run {
  hello: Hello | undefined;
  control: ControlState = { breakpoints: [], held: null };
  readonly instances = new Map<string, InstanceRun>();
  readonly messages: MessageEntry[] = [];
  readonly requests: RequestEntry[] = [];
  readonly answers = new Map<string, AnswerEntry>();
  readonly notes: (NoteEntry | ControlEntry)[] = [];
  lastSeq = -1;
  /** Newest time that was heard of: where the clock stands in a recording. */
  lastAt = 0;
  /** First entry that is still known. */
  firstSeq = 0;
  /** How often the oldest entries were forgotten. */
  trims = 0;
  /** Why there is nothing more to come. */
  ended: string | undefined;

  begin(hello: Hello): void {
    this.hello = hello;
    if (hello.state) this.control = hello.state;
    if (this.lastSeq < 0) this.restOn(hello.base);
  }

  /** @returns instances that were not known before. */
  add(batch: Batch): readonly InstanceRun[] {
    if (batch.base && batch.lost) this.startAgain(batch.base);
    else if (batch.base) this.forgetBefore(batch.base);
    const fresh: InstanceRun[] = [];
    for (const entry of batch.entries) {
      if (entry.seq <= this.lastSeq) continue; // said twice: the stream was resumed
      this.lastSeq = entry.seq;
      this.lastAt = Math.max(this.lastAt, entry.at);
      const added = this.take(entry);
      if (added) fresh.push(added);
    }
    return fresh;
  }

  /** What the server does not keep any more, the page does not keep either. */
  private forgetBefore(base: Base): void {
    const isKept = ({ seq }: Entry) => seq >= base.seq;
    this.firstSeq = base.seq;
    this.trims += 1;
    const sums = new Map(base.instances.map((one) => [one.instance.instance, one]));
    for (const run of [...this.instances.values()]) {
      const steps = run.steps.filter(isKept);
      const sum = sums.get(run.id);
      const isGone = steps.length === 0 && sum === undefined && run.entry.seq < base.seq;
      if (isGone) this.instances.delete(run.id);
      else {
        const [services, deadlines] = [
          livesSince(run.services, base),
          livesSince(run.deadlines, base),
        ];
        this.instances.set(run.id, { ...run, steps, services, deadlines, base: sum ?? run.base });
      }
    }
    for (const list of [this.messages, this.requests, this.notes])
      list.splice(0, list.findLastIndex(({ seq }) => seq < base.seq) + 1);
    for (const [id, answer] of this.answers) if (!isKept(answer)) this.answers.delete(id);
  }

  private startAgain(base: Base): void {
    this.instances.clear();
    for (const list of [this.messages, this.requests, this.notes]) list.length = 0;
    this.answers.clear();
    this.lastSeq = base.seq - 1;
    this.restOn(base);
  }

  private restOn(base: Base): void {
    this.firstSeq = base.seq;
    this.lastSeq = Math.max(this.lastSeq, base.seq - 1);
    for (const one of base.instances) this.instanceFor(one.instance, one);
  }

  private instanceFor(entry: InstanceEntry, base?: InstanceBase): InstanceRun {
    const { instance: id } = entry;
    const known = this.instances.get(id);
    if (known) {
      known.entry = entry;
      return known;
    }
    const run: InstanceRun = {
      id,
      entry,
      base,
      steps: [],
      services: new Map(),
      deadlines: new Map(),
    };
    this.instances.set(id, run);
    return run;
  }

  private take(entry: Entry): InstanceRun | undefined {
    const run = this.instances.get(entry.instance);
    switch (entry.kind) {
      case 'instance': {
        const made = this.instanceFor(entry);
        return run ? undefined : made;
      }
      case 'step':
        run?.steps.push(entry);
        return undefined;
      case 'service':
        if (run) addLife(run.services, entry);
        return undefined;
      case 'deadline':
        if (run) addLife(run.deadlines, entry);
        return undefined;
      case 'message':
        this.messages.push(entry);
        return undefined;
      case 'request':
        this.requests.push(entry);
        return undefined;
      case 'answer':
        this.answers.set(entry.request, entry);
        return undefined;
      case 'control':
      case 'note':
        this.notes.push(entry);
        return undefined;
    }
  }

  /** Turns and their helpers, each helper behind the one that called it. */
  instanceTree(): readonly { readonly run: InstanceRun; readonly depth: number }[] {
    const all = [...this.instances.values()];
    const below = (parent: string | null, depth: number): { run: InstanceRun; depth: number }[] =>
      all
        .filter(({ entry }) => this.parentOf(entry) === parent)
        .flatMap((run) => [{ run, depth }, ...below(run.id, depth + 1)]);
    return below(null, 0);
  }
  private parentOf({ parent }: InstanceEntry): string | null {
    return parent !== null && this.instances.has(parent) ? parent : null;
  }

  /** The conversation that an instance is part of: all turns are one, an agent has its own. */
  messagesOf(instance: string): readonly MessageEntry[] {
    const isOf = this.talkOf(instance);
    return this.messages.filter((message) => isOf(message.instance));
  }
  requestsOf(instance: string): readonly RequestEntry[] {
    const isOf = this.talkOf(instance);
    return this.requests.filter((request) => isOf(request.instance));
  }
  /** What those of them have used whose entries are not kept any more. */
  forgottenOf(instance: string): readonly InstanceBase[] {
    const isOf = this.talkOf(instance);
    return [...this.instances.values()].flatMap(({ id, base }) => (isOf(id) && base ? [base] : []));
  }
  private talkOf(instance: string): (id: string) => boolean {
    const role = this.instances.get(instance)?.entry.role;
    if (role !== 'query') return (id) => id === instance;
    return (id) => id === SESSION || this.instances.get(id)?.entry.role === 'query';
  }
}

function addLife<T extends { readonly id: string }>(lives: Map<string, Life<T>>, entry: T): void {
  const life = lives.get(entry.id);
  if (life) life.push(entry);
  else lives.set(entry.id, [entry]);
}

/** Of what is still going on, its newest word stays, however old. */
function livesSince<
  T extends { readonly id: string; readonly seq: number; readonly status: string },
>(lives: ReadonlyMap<string, Life<T>>, { seq }: Base): Map<string, Life<T>> {
  const kept = new Map<string, Life<T>>();
  for (const [id, life] of lives) {
    const last = life.at(-1);
    const isOver = last !== undefined && !['active', 'running', 'held'].includes(last.status);
    const since = life.filter((entry) => entry.seq >= seq);
    if (since.length > 0) kept.set(id, since);
    else if (last && !isOver) kept.set(id, [last]);
  }
  return kept;
}

/** The newest word on something, at a place in the list. */
export function newest<T extends { readonly seq: number }>(
  life: Life<T>,
  seq: number,
): T | undefined {
  return life.findLast((entry) => entry.seq <= seq);
}
