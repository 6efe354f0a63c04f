/** How often each edge was taken, up to a step. Going on costs what is new; going back begins anew. */
import type { Step } from '../protocol.ts';
import type { InstanceRun } from './run.ts';

export class Counts {
  readonly edges = new Map<string, number>();
  /** Edges that have had their first time, or all, since `advance` was asked the last time. */
  private run: InstanceRun | undefined;
  private place = -1;

  /** @returns false when everything was counted anew. */
  advance(run: InstanceRun | undefined, cursor: number): boolean {
    const isOn = run === this.run && cursor >= this.place;
    if (!isOn) {
      this.edges.clear();
      for (const [id, times] of Object.entries(run?.base?.taken ?? {})) this.edges.set(id, times);
      this.place = -1;
      this.run = run;
    }
    while (run && this.place < cursor) {
      this.place += 1;
      for (const { id } of run.steps[this.place]?.edges ?? [])
        this.edges.set(id, (this.edges.get(id) ?? 0) + 1);
    }
    return isOn;
  }
}

/** The step, before this place, that took an edge: where a click on it leads. Round the end. */
export function stepBefore(
  steps: readonly Step[],
  cursor: number,
  isIt: (step: Step) => boolean,
): number | undefined {
  for (let back = 1; back <= steps.length; back += 1) {
    const at = (cursor - back + steps.length * 2) % steps.length;
    const step = steps[at];
    if (step && isIt(step)) return at;
  }
  return undefined;
}
/** The next one, round the end. */
export function stepAfter(
  steps: readonly Step[],
  cursor: number,
  isIt: (step: Step) => boolean,
): number | undefined {
  for (let on = 1; on <= steps.length; on += 1) {
    const at = (cursor + on + steps.length) % steps.length;
    const step = steps[at];
    if (step && isIt(step)) return at;
  }
  return undefined;
}
