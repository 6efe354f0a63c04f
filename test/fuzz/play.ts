/** Walks a walk on the real engine, over real HTTP, and says what of the things that always hold did not. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ObservedAnswer } from '../../src/engine-events.ts';
import { agreedBy } from '../../src/testing/invariants.ts';
import type { Reply } from '../../src/testing/script.ts';
import type { SDKMessage } from '../../src/wire.ts';
import { NAP_SECONDS } from './draw-reply.ts';
import { type Heard, judgeEnd, judgeLife, type Problem } from './judge.ts';
import {
  closeScene,
  crashedHome,
  type OpenLife,
  openLife,
  openScene,
  type Scene,
} from './scene.ts';
import type { Act, Walk, WalkTurn } from './walk.ts';
import { within } from './within.ts';

/**
 * Above each deadline of a turn here: a turn that says nothing for so long hangs. One that talks on
 * may be a long way on a busy machine, …
 */
const TURN_MS = 45_000;
/** … but not for so many times as long. */
const TALKS_TIMES = 4;
/** A walk that hangs is cut down sooner than it is believed to hang. */
export const IMPATIENT_MS = 15_000;
/** Above the deadlines of all that a close waits for. */
const CLOSE_MS = 12_000;
const PAUSE_MS = 50;

export interface Walked {
  readonly problems: readonly Problem[];
  /** How its turns ended, for people. */
  readonly reasons: readonly string[];
  readonly ms: number;
}

/** *Contract:* never rejects; a throw of ours is a problem like any other. */
export async function playWalk(walk: Walk, turnMs = TURN_MS): Promise<Walked> {
  const startedAt = performance.now();
  const problems: Problem[] = [];
  const reasons: string[] = [];
  naps += 1;
  const nap = `77.${process.pid}${naps}`;
  const scene = openScene(withNap(walk, nap), randomUUID(), nap);
  try {
    const player = new Player(scene, problems, reasons, turnMs);
    await player.play();
  } catch (error) {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    problems.push({ name: 'threw', detail });
  } finally {
    closeScene(scene);
  }
  return { problems, reasons, ms: performance.now() - startedAt };
}

let naps = 0;

/** Processes that a walk leaves behind are found by the seconds that they sleep. */
const withNap = (walk: Walk, nap: string): Walk =>
  JSON.parse(JSON.stringify(walk).replaceAll(NAP_SECONDS, nap)) as Walk;

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** By the engine: it was stopped, or a deadline was over. */
const wasGivenUp = ({ isAborted, failure }: ObservedAnswer): boolean =>
  isAborted || failure?.class === 'timeout' || failure?.class === 'stalled';

type TurnEnd = 'ended' | 'left' | 'killed' | 'hung';

/** A turn while it is listened to. */
interface Listening {
  wantsToLeave: boolean;
  /** Before the next message is read. */
  pauses: number;
  end: (how: 'killed' | 'hung') => void;
}

class Player {
  readonly #scene: Scene;
  readonly #turnMs: number;
  readonly #problems: Problem[];
  readonly #reasons: string[];
  readonly #heard: Heard[] = [];
  /** Ends of engines that nobody waits for while the walk goes on. */
  readonly #afterlives: Promise<unknown>[] = [];
  #life!: OpenLife;
  #now!: Heard;
  #enqueued = 0;

  constructor(scene: Scene, problems: Problem[], reasons: string[], turnMs: number) {
    this.#turnMs = turnMs;
    this.#scene = scene;
    this.#problems = problems;
    this.#reasons = reasons;
  }

  async play(): Promise<void> {
    const { walk, root } = this.#scene;
    await this.#begin(join(root, 'home'), walk.replies);
    try {
      for (const turn of walk.turns) await this.#turn(turn);
      await this.#answerQueued();
      this.#now.history = this.#life.engine.messages;
      this.#now.waiting = this.#life.engine.takeQueued().map(({ uuid }) => uuid);
    } finally {
      await this.#close(this.#life);
      await this.#inTime('what the host began beside the turns', Promise.all(this.#afterlives));
    }
    for (const heard of this.#heard) this.#problems.push(...judgeLife(heard));
    if (this.#problems.some(({ name }) => name === 'hang')) return;
    this.#problems.push(...(await judgeEnd(this.#scene, this.#heard, this.#turnMs)));
  }

  async #begin(home: string, replies: readonly Reply[], isPlain = false): Promise<void> {
    this.#life = await openLife(this.#scene, home, { replies, isPlain });
    this.#now = {
      ...{ life: this.#life, messages: [], prompts: [], enqueued: [], cancelled: [] },
      ...{ history: [], waiting: [], agreed: agreedBy(this.#life.engine) },
      ...{ wasLeft: false, wasStopped: false, hasHungUp: false },
    };
    const now = this.#now;
    now.life.engine.observe((event) => {
      if (event.type === 'request.ended' && wasGivenUp(event.answer)) now.hasHungUp = true;
    });
    this.#heard.push(now);
  }

  async #close({ engine, server }: OpenLife): Promise<void> {
    await this.#inTime('close()', engine.close());
    await this.#inTime("the server's close()", server.close());
  }

  /** *Contract:* what is not over in time is a problem, and is waited for no longer. */
  async #inTime(what: string, work: Promise<unknown>): Promise<void> {
    if ((await within(work, CLOSE_MS)) !== 'late') return;
    this.#problems.push({ name: 'hang', detail: `${what}: not over after ${CLOSE_MS} ms` });
  }

  /** As hosts do: what was said beside the last turn is the next one. */
  async #answerQueued(): Promise<void> {
    for (let tries = 0; tries < 3; tries += 1) {
      const queued = this.#life.isDead ? [] : this.#life.engine.takeQueued();
      if (queued.length === 0) return;
      for (const { prompt, uuid } of queued) {
        await this.#submit(() => this.#life.engine.submitMessage(prompt, { uuid }), []);
      }
    }
  }

  async #turn({ prompt, acts }: WalkTurn): Promise<void> {
    const uuid = randomUUID();
    this.#now.prompts.push(uuid);
    await this.#submit(() => this.#life.engine.submitMessage(prompt, { uuid }), acts);
  }

  async #submit(
    begin: () => AsyncGenerator<SDKMessage, void, unknown>,
    acts: readonly Act[],
  ): Promise<void> {
    const end = await this.#listen(begin(), acts);
    if (end === 'left') this.#now.wasLeft = true;
    if (end === 'hung') this.#problems.push({ name: 'hang', detail: this.#lastWords() });
    if (end === 'killed' || end === 'hung' || this.#isClosed) await this.#resume(end);
  }

  #isClosed = false;

  /** Another process goes on with what the files say. */
  async #resume(end: TurnEnd): Promise<void> {
    const { life } = this.#now;
    const { replies } = this.#scene.walk;
    this.#isClosed = false;
    if (end !== 'killed') {
      this.#now.history = life.engine.messages;
      await this.#close(life);
    }
    const home = end === 'killed' ? this.#killedHome : life.home;
    await this.#begin(home, leftOf(replies, life.server.repliesLeft));
    if (this.#scene.walk.settings.finishesInterrupted && this.#life.engine.interrupted) {
      await this.#submit(() => this.#life.engine.finishInterrupted(), []);
    }
  }

  #killedHome = '';

  /** Reads a turn to its end, and does what the host does meanwhile. */
  async #listen(
    messages: AsyncGenerator<SDKMessage, void, unknown>,
    acts: readonly Act[],
  ): Promise<TurnEnd> {
    const state: Listening = { wantsToLeave: false, pauses: 0, end: () => {} };
    const cutShort = new Promise<'killed' | 'hung'>((resolve) => {
      state.end = resolve;
    });
    const hangsIn = (ms: number) => setTimeout(() => state.end('hung'), ms);
    const timers = [hangsIn(this.#turnMs * TALKS_TIMES)];
    let silence = hangsIn(this.#turnMs);
    let pending = acts;
    try {
      for (let count = 0; ; count += 1) {
        for (const act of pending.filter(({ afterMessages }) => afterMessages <= count)) {
          timers.push(setTimeout(() => this.#act(act, state), act.afterMs));
        }
        pending = pending.filter(({ afterMessages }) => afterMessages > count);
        const next = messages.next();
        const step = await Promise.race([next, cutShort]);
        if (typeof step === 'string') {
          next.catch(() => {}); // of a process that is dead: nobody hears it
          return step;
        }
        if (step.done) return 'ended';
        this.#hear(step.value);
        clearTimeout(silence);
        silence = hangsIn(this.#turnMs);
        for (; state.pauses > 0; state.pauses -= 1) await wait(PAUSE_MS);
        if (state.wantsToLeave && step.value.type !== 'result') {
          const left = messages.return().then(() => 'left' as const);
          const end = await Promise.race([left, cutShort]);
          if (end !== 'left') left.catch(() => {}); // of a process that is dead, too
          return end;
        }
      }
    } finally {
      for (const timer of [...timers, silence]) clearTimeout(timer);
    }
  }

  #hear(message: SDKMessage): void {
    this.#now.messages.push(message);
    if (message.type === 'result') this.#reasons.push(message.terminal_reason);
  }

  #lastWords(): string {
    const last = this.#now.messages.at(-1);
    return `says nothing for ${this.#turnMs} ms, or is never over; the last message: ${last ? JSON.stringify(last).slice(0, 300) : 'none'}`;
  }

  #act(act: Act, state: Listening): void {
    const { life, messages } = this.#now;
    const { engine } = life;
    if (life.isDead) return;
    switch (act.does) {
      case 'interrupt':
      case 'interrupt twice':
        this.#now.wasStopped = true;
        engine.interrupt();
        if (act.does === 'interrupt twice') engine.interrupt();
        return;
      case 'abort':
        this.#now.wasStopped = true;
        life.controller.abort();
        return;
      case 'enqueue':
      case 'enqueue now':
      case 'enqueue later':
        this.#enqueue(act.does);
        return;
      case 'cancel': {
        const uuid = this.#now.enqueued.at(-1);
        if (uuid !== undefined && engine.cancel(uuid)) this.#now.cancelled.push(uuid);
        return;
      }
      case 'leave':
        state.wantsToLeave = true;
        this.#now.wasStopped = true;
        return;
      case 'pause':
        state.pauses += 2;
        return;
      case 'kill':
        this.#kill(state);
        return;
      case 'set model':
        engine.setModel('claude-haiku-4-5');
        return;
      case 'set mode':
        engine.setPermissionMode('acceptEdits');
        return;
      case 'snip': {
        const said = messages.findLast(({ type }) => type === 'assistant');
        if (said) engine.snip(said.uuid);
        return;
      }
      case 'usage':
        this.#afterlives.push(engine.contextUsage());
        return;
      case 'close':
        this.#now.wasStopped = true;
        this.#isClosed = true;
        this.#afterlives.push(engine.close());
        return;
    }
  }

  #enqueue(does: 'enqueue' | 'enqueue now' | 'enqueue later'): void {
    const uuid = randomUUID();
    const priority = ({ enqueue: 'next', 'enqueue now': 'now', 'enqueue later': 'later' } as const)[
      does
    ];
    this.#enqueued += 1;
    this.#now.enqueued.push(uuid);
    if (priority === 'now') this.#now.wasStopped = true;
    this.#life.engine.enqueue(`and ${this.#enqueued}`, { uuid, priority });
  }

  /** At once: what the files say now is all that the next process has. */
  #kill(state: Listening): void {
    const { life } = this.#now;
    this.#killedHome = crashedHome(this.#scene, life.home);
    life.isDead = true;
    state.end('killed');
    this.#afterlives.push(life.server.close(), life.engine.close());
  }
}

/** Replies that nobody has taken. They are taken in order. */
function leftOf(replies: readonly Reply[], left: number): readonly Reply[] {
  const kept: Reply[] = [];
  let room = left;
  for (const reply of [...replies].reverse()) {
    if (room <= 0) break;
    const times = typeof reply.times === 'number' ? reply.times : 1;
    kept.unshift(times > room ? { ...reply, times: room } : reply);
    room -= times;
  }
  return kept;
}
