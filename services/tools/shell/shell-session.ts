/**
 * Everything that the shells of one session have started. It ends with the session: nothing
 * outlives it, whatever group it went to, unless the command took its mark off
 * (`env -u ESCAPEMENT_PROCESS_MARKS setsid …`), which is how one asks for it.
 */
import { randomUUID } from 'node:crypto';
import { BoundedText } from '../process/bounded-text.ts';
import { guardAtExit } from '../process/exit-guard.ts';
import { killMarked } from '../process/marks.ts';
import {
  type GroupEnd,
  type GroupOptions,
  type ProcessGroup,
  spawnGroup,
} from '../process/spawn-group.ts';
import type { ToolState } from '../tool.ts';
import { shellLimits } from './limits.ts';

/** A shell that goes on beside the conversation. */
export interface BackgroundShell {
  readonly id: string;
  readonly command: string;
  readonly group: ProcessGroup;
  /** What was printed since somebody looked. */
  readonly unread: BoundedText;
  /** Undefined while it runs. */
  end: GroupEnd | undefined;
  /** By KillShell, and nothing of it is alive. */
  wasKilled: boolean;
}

export class ShellSession {
  readonly #mark = randomUUID();
  readonly #letGo = guardAtExit(this.#mark);
  readonly #running = new Set<ProcessGroup>();
  readonly #shells = new Map<string, BackgroundShell>();
  #groups = 0;
  #ids = 0;

  /** The folder of the first command: where the session is taken to when its folder is gone. */
  readonly firstCwd: string;

  constructor(firstCwd: string) {
    this.firstCwd = firstCwd;
  }

  /** Starts a group that ends with the session. */
  start(options: Omit<GroupOptions, 'mark'>): ProcessGroup {
    this.#groups += 1;
    // The dots keep mark 1 from being found in mark 11.
    const group = spawnGroup({ ...options, mark: `${this.#mark}.${this.#groups}.` });
    this.#running.add(group);
    void group.ended.then(() => {
      if (group.leftovers().length === 0) this.#running.delete(group);
    });
    return group;
  }

  /** May one more shell go on in the background? */
  get hasRoom(): boolean {
    return [...this.#shells.values()].filter(isRunning).length < shellLimits.runningMax;
  }

  /** Gives a group a name by which it can be watched and ended. *Ask `hasRoom` first.* */
  adopt(command: string, group: ProcessGroup): BackgroundShell {
    const ended = [...this.#shells.values()].filter((shell) => !isRunning(shell));
    for (const { id } of ended.slice(0, Math.max(0, ended.length - shellLimits.endedMax + 1))) {
      this.#shells.delete(id);
    }
    this.#ids += 1;
    const shell: BackgroundShell = {
      id: `bash_${this.#ids}`,
      command,
      group,
      unread: new BoundedText(shellLimits.unreadCharsMax),
      end: undefined,
      wasKilled: false,
    };
    void group.ended.then((end) => {
      shell.end = end;
    });
    this.#shells.set(shell.id, shell);
    return shell;
  }

  find(id: string): BackgroundShell | undefined {
    return this.#shells.get(id);
  }

  get ids(): readonly string[] {
    return [...this.#shells.keys()];
  }

  /** Ends everything, also what has left its group. */
  async dispose(): Promise<void> {
    await Promise.all([...this.#running].map((group) => group.stop(shellLimits.disposeGraceMs)));
    killMarked(this.#mark);
    for (const group of this.#running) group.release();
    this.#running.clear();
    this.#letGo();
  }
}

/** Its shell, or a child that the shell has left behind. */
export const isRunning = (shell: BackgroundShell): boolean =>
  !shell.wasKilled && (shell.end === undefined || shell.group.leftovers().length > 0);

/** The one of this session, made on first use. */
export const shellSessionOf = (state: ToolState, cwd: string): ShellSession =>
  state.get(
    'shell',
    () => new ShellSession(cwd),
    (session) => session.dispose(),
  );
