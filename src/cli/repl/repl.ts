/**
 * The interactive session: what a person types becomes turns, answers and commands; what the engine
 * says becomes text. Everything that decides is pure and elsewhere; here it is put in order.
 */
import { randomUUID } from 'node:crypto';
import pc from 'picocolors';
import type { Prompt } from '../../config.ts';
import { UsageError } from '../../usage-error.ts';
import { VERSION } from '../../version.ts';
import type { SDKMessage, SDKResultMessage } from '../../wire.ts';
import { clipCells } from '../cells.ts';
import { exitCodes, PROMPT_BYTES_MAX } from '../context.ts';
import { printable, visible } from '../printable.ts';
import { emptyView, showMessage, type ViewOptions, type ViewState } from '../view.ts';
import type { Asker } from './asker.ts';
import { completedName, helpLines, type ReplCommand, readLine } from './commands.ts';
import { type EditorState, edit, editorWith, emptyEditor, inserted, type Key } from './editor.ts';
import type { PromptHistory } from './history.ts';
import type { InputListener } from './input.ts';
import type { QuestionLine } from './question-line.ts';
import { costLines, echoLines, permissionLines, unknownCommandLine } from './reports.ts';
import type { Screen } from './screen.ts';
import type { ReplSession } from './session.ts';
import { FRAME_MS, nextStatus, type Status, statusText } from './status.ts';

export interface ReplParts {
  readonly session: ReplSession;
  readonly questions: QuestionLine;
  readonly asker: Asker;
  readonly screen: Screen;
  readonly history: PromptHistory;
  readonly view: Omit<ViewOptions, 'columns'>;
  /** The terminal echoes and edits lines itself. */
  readonly isPlain: boolean;
  /** Puts the process to sleep (Ctrl-Z). Returns when it was told to, not when it wakes up. */
  readonly sleep: () => void;
}

/** A turn to come, or a new session. */
type Job =
  | {
      readonly kind: 'prompt';
      readonly prompt: Prompt;
      readonly text: string;
      readonly uuid: string;
    }
  | { readonly kind: 'clear' };

/** So soon a second Ctrl-C leaves. */
const LEAVE_AGAIN_MS = 2_000;

export class Repl implements InputListener {
  readonly #parts: ReplParts;
  readonly #colors: ReturnType<typeof pc.createColors>;
  #editor: EditorState = emptyEditor;
  /** What was being written when a question came. */
  #draft: EditorState | undefined;
  /** Lines of a plain terminal that go on in the next one. */
  #begun = '';
  #hint: string | undefined;
  #jobs: Job[] = [];
  /** Prompts that were handed to the turn that runs, by uuid. */
  readonly #queued = new Map<string, string>();
  #turn: { status: Status; readonly startedAtMs: number } | undefined;
  #view: ViewState = emptyView;
  #leaveAgainUntilMs = 0;
  #exitCode: number | undefined;
  #wake: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ReplParts) {
    this.#parts = parts;
    this.#colors = pc.createColors(parts.view.isColored);
  }

  /** Until the person leaves. @returns the exit code. */
  async run(first: string | undefined): Promise<number> {
    const { session, screen } = this.#parts;
    const place = `${session.model} · ${visible(session.config.cwd)}`;
    this.print(`${this.#colors.bold(`Escapement ${VERSION}`)} · ${place} · /help`);
    if (first !== undefined) this.#accept(first, true);
    this.refresh();
    try {
      for (let job = await this.#nextJob(); job; job = await this.#nextJob()) await this.#do(job);
      return this.#exitCode ?? exitCodes.good;
    } finally {
      clearInterval(this.#timer);
      screen.close();
    }
  }

  /** Ends the session: a turn that runs is stopped, its result is still shown. */
  leave(code: number): void {
    this.#exitCode ??= code;
    this.#jobs = [];
    this.#parts.questions.current?.stop();
    this.#parts.session.engine.interrupt();
    this.#wake();
  }

  get isLeaving(): boolean {
    return this.#exitCode !== undefined;
  }

  /** One lasting line of ours. */
  print(line: string): void {
    const isOpen = this.#view.isLineOpen;
    this.#view = { ...this.#view, isLineOpen: false };
    this.#parts.screen.print(`${isOpen ? '\n' : ''}${line}\n`);
  }

  /** Draws what stands below the text. */
  refresh(): void {
    const { questions, screen, isPlain } = this.#parts;
    const question = questions.current;
    if (question && !this.#draft) {
      this.#draft = this.#editor;
      this.#editor = emptyEditor;
    } else if (!question && this.#draft) {
      this.#editor = this.#draft;
      this.#draft = undefined;
    }
    const queued = [...this.#queued.values()].map((text) => `⧗ queued: ${this.#gist(text)}`);
    const notes = [...(question ? question.hints : isPlain ? [] : queued)];
    if (this.#hint !== undefined) notes.push(this.#hint);
    const turn = this.#turn;
    const nowMs = performance.now();
    screen.show(
      {
        notes,
        label: question ? '? ' : this.#begun === '' ? '> ' : '… ',
        editor: this.#editor,
        ...(turn && !question
          ? { status: statusText(turn.status, nowMs, nowMs - turn.startedAtMs) }
          : {}),
      },
      question !== undefined || (turn === undefined && this.#jobs.length === 0),
    );
  }

  // ── the keyboard ──

  onKey(key: Key): void {
    this.#hint = undefined;
    const name = key.isCtrl ? `ctrl-${key.name}` : key.name;
    if (name === 'ctrl-c') this.onInterrupt();
    else if (name === 'ctrl-z') this.#parts.sleep();
    else if (name === 'escape') this.#stop();
    else if (name === 'ctrl-d' && this.#editor.text === '') this.onInputEnd();
    else if (name === 'tab') this.#complete();
    else this.#edit(key);
    this.refresh();
  }

  onPaste(text: string): void {
    this.#editor = inserted(this.#editor, printable(text));
    this.refresh();
  }

  onLine(text: string): void {
    this.#parts.screen.entered();
    const whole = this.#begun + printable(text);
    this.#begun = '';
    if (whole.endsWith('\\') && !this.#parts.questions.current) {
      this.#begun = `${whole.slice(0, -1)}\n`;
    } else {
      this.#submit(whole);
    }
    this.refresh();
  }

  onInputEnd(): void {
    this.leave(exitCodes.good);
  }

  /** Ctrl-C: stops what runs, else drops what was written, else leaves at the second time. */
  onInterrupt(): void {
    const hasText = this.#editor.text !== '' || this.#begun !== '';
    if (this.#stop()) {
      // It says so itself.
    } else if (hasText && !this.#turn) {
      this.#editor = { ...emptyEditor, killed: this.#editor.text };
      this.#begun = '';
      this.#parts.screen.entered();
    } else if (performance.now() < this.#leaveAgainUntilMs) {
      this.leave(exitCodes.good);
    } else {
      this.#leaveAgainUntilMs = performance.now() + LEAVE_AGAIN_MS;
      this.#say('press Ctrl-C again to leave');
    }
    this.refresh();
  }

  /** @returns whether there was something to stop that was not being stopped already. */
  #stop(): boolean {
    const { questions, session } = this.#parts;
    const question = questions.current;
    if (question && !question.stopsTurn) {
      question.stop();
      return true;
    }
    const turn = this.#turn;
    if (!turn || turn.status.kind === 'stopping') return false;
    turn.status = { kind: 'stopping' };
    this.#takeBackQueued();
    if (question) question.stop();
    else session.engine.interrupt();
    return true;
  }

  /** Whoever stops a turn wants no other one to begin: what waits goes back to the keyboard. */
  #takeBackQueued(): void {
    const { engine } = this.#parts.session;
    const texts = engine.takeQueued().flatMap(({ uuid }) => this.#queued.get(uuid) ?? []);
    this.#queued.clear();
    if (texts.length === 0) return;
    if (this.#parts.isPlain) {
      for (const text of texts) this.print(`  not sent: ${this.#gist(text)}`);
      return;
    }
    const draft = this.#draft ?? this.#editor;
    const together = [...texts, draft.text].filter((text) => text !== '').join('\n');
    const back = editorWith(together, draft);
    if (this.#draft) this.#draft = back;
    else this.#editor = back;
  }

  #edit(key: Key): void {
    const { questions, history } = this.#parts;
    const edited = edit(this.#editor, key, questions.current ? [] : history.entries);
    if (edited.kind === 'ignored') return;
    this.#editor = edited.state;
    if (edited.kind === 'submitted') this.#submit(edited.text);
  }

  #complete(): void {
    const name = /^\/([\w:.-]*)$/.exec(this.#editor.text)?.[1];
    if (name === undefined || this.#parts.questions.current) return;
    const { begin, fitting } = completedName(name, this.#engineCommands);
    const isWhole = fitting.length === 1;
    if (isWhole) this.#editor = editorWith(`/${fitting[0]} `, this.#editor);
    else {
      this.#editor = editorWith(`/${begin}`, this.#editor);
      this.#hint = fitting.map((one) => `/${visible(one)}`).join('  ');
    }
  }

  // ── lines ──

  /** As they are now: servers come and go. */
  get #engineCommands(): readonly string[] {
    return this.#parts.session.engine.commands.map(({ name }) => name);
  }

  #unknownCommand(name: string): string {
    const { mcpServers } = this.#parts.session.engine;
    const connecting = mcpServers.filter(({ status }) => status === 'pending');
    const names = connecting.map((server) => server.name);
    return unknownCommandLine(name, this.#engineCommands, names);
  }

  #submit(text: string): void {
    const { questions, history } = this.#parts;
    const question = questions.current;
    const line = readLine(text, this.#engineCommands);
    if (question && line.kind !== 'command') {
      const hint = question.answer(text);
      if (hint !== undefined) this.#say(hint);
      return;
    }
    if (text.trim() === '') return;
    if (Buffer.byteLength(text) > PROMPT_BYTES_MAX) {
      this.#editor = editorWith(text);
      this.#say(`longer than ${PROMPT_BYTES_MAX} bytes: name a file instead`);
      return;
    }
    history.add(text);
    switch (line.kind) {
      case 'prompt':
        this.#accept(line.text, !this.#parts.isPlain);
        return;
      case 'command':
        this.#obey(line.name, line.argument);
        return;
      case 'unknown':
        this.print(this.#colors.yellow(this.#unknownCommand(line.name)));
        return;
    }
  }

  /** A prompt: the next turn, or beside the one that runs. */
  #accept(text: string, echoes: boolean): void {
    const uuid = randomUUID();
    if (!this.#turn) {
      if (echoes) this.#echo(text);
      this.#jobs.push({ kind: 'prompt', prompt: text, text, uuid });
      this.#wake();
      return;
    }
    this.#queued.set(uuid, text);
    this.#parts.session.engine.enqueue(text, { uuid });
    if (this.#parts.isPlain) this.print(`  queued: ${this.#gist(text)}`);
  }

  #obey(name: ReplCommand, argument: string): void {
    const { session } = this.#parts;
    switch (name) {
      case 'help':
        this.#printAll(helpLines(this.#parts.isPlain, session.engine.commands));
        return;
      case 'model':
        if (argument !== '' && !this.#try(() => session.chooseModel(argument))) return;
        this.print(`Model: ${visible(session.model)}`);
        return;
      case 'permissions':
        if (argument !== '' && !this.#try(() => session.chooseMode(argument))) return;
        this.#printAll(permissionLines(session.config.getAppState().toolPermissionContext));
        return;
      case 'cost':
        this.#printAll(costLines(session.lastResult));
        return;
      case 'clear':
        if (this.#turn) {
          this.print('A turn is running: stop it first (Ctrl-C).');
          return;
        }
        this.#jobs.push({ kind: 'clear' });
        this.#wake();
        return;
      case 'exit':
        this.leave(exitCodes.good);
        return;
    }
  }

  #try(step: () => void): boolean {
    try {
      step();
      return true;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.print(this.#colors.yellow(printable(error.message)));
      return false;
    }
  }

  // ── turns ──

  async #nextJob(): Promise<Job | undefined> {
    while (this.#jobs.length === 0 && !this.isLeaving) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.isLeaving ? undefined : this.#jobs.shift();
  }

  async #do(job: Job): Promise<void> {
    if (job.kind === 'clear') return this.#clear();
    const { engine } = this.#parts.session;
    this.#turn = { status: { kind: 'starting' }, startedAtMs: performance.now() };
    if (!this.#parts.isPlain) this.#timer = setInterval(() => this.refresh(), FRAME_MS);
    this.refresh();
    try {
      for await (const message of engine.submitMessage(job.prompt, { uuid: job.uuid })) {
        this.#hear(message);
      }
    } finally {
      clearInterval(this.#timer);
      this.#turn = undefined;
    }
    for (const { prompt, uuid } of engine.takeQueued()) {
      const text = this.#queued.get(uuid) ?? '';
      this.#jobs.push({ kind: 'prompt', prompt, text, uuid });
    }
    this.#queued.clear();
    const [next] = this.#jobs;
    if (next?.kind === 'prompt') this.#echo(next.text);
    this.refresh();
  }

  #hear(message: SDKMessage): void {
    const { screen, view, session } = this.#parts;
    const turn = this.#turn;
    if (turn) turn.status = nextStatus(turn.status, message, performance.now());
    if (message.type === 'result') this.#hearResult(message);
    const options = { ...view, columns: screen.columns };
    const [state, text] = showMessage(this.#view, message, options);
    this.#view = state;
    if (text !== '') screen.print(text);
    if (message.type === 'result') session.keep(message);
    if (message.type === 'assistant') {
      for (const block of message.message.content) {
        if (block.type === 'tool_use') this.#parts.asker.shown(block.id);
      }
    }
    this.refresh();
  }

  /** Prompts that this turn has answered beside its own wait no longer. */
  #hearResult({ user_message_uuids: answered }: SDKResultMessage): void {
    for (const uuid of answered) {
      const text = this.#queued.get(uuid);
      if (text === undefined) continue;
      this.#queued.delete(uuid);
      this.print(this.#colors.dim(`  ⧗ was taken into this turn: ${this.#gist(text)}`));
    }
  }

  async #clear(): Promise<void> {
    try {
      await this.#parts.session.renew();
      this.#view = emptyView;
      this.print(this.#colors.dim('── a new session ──'));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.print(this.#colors.yellow(`The session stays: ${printable(error.message)}`));
    }
    this.refresh();
  }

  // ── text ──

  /** A short word to the person, where it is seen and gone with the next key. */
  #say(text: string): void {
    if (this.#parts.isPlain) this.print(text);
    else this.#hint = text;
  }

  #printAll(lines: readonly string[]): void {
    for (const line of lines) this.print(line);
  }

  #echo(text: string): void {
    this.#printAll(echoLines(text, this.#colors));
  }

  #gist(text: string): string {
    const room = Math.max(20, this.#parts.screen.columns - 24);
    return clipCells(visible(text).replace(/\s+/g, ' ').trim(), room);
  }
}
