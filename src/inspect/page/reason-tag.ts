import { isEnding } from '../chart/plan.ts';
import type { Chart, Step, TakenEdge } from '../protocol.ts';
import { el, set } from './dom.ts';

export type ReasonKind = 'continue' | 'terminal';
/** Whether a taken edge's reason ends the run: told by the chart, else by what is known of the step. */
export function kindOf(edge: TakenEdge, chart: Chart | undefined, step: Step): ReasonKind {
  const drawn = chart?.edges.find(({ id }) => id === edge.id);
  if (chart && drawn) return isEnding(drawn, chart) ? 'terminal' : 'continue';
  return step.status === 'active' ? 'continue' : 'terminal';
}

export function reasonTag(reason: string, kind: ReasonKind, why?: string): HTMLElement {
  return set(el(`span.tag.${kind}`, reason), { title: why });
}

/** Every reason of a step, in order. */
export function reasonsOf(step: Step, chart: Chart | undefined) {
  return step.edges.flatMap((edge) =>
    edge.reason === undefined
      ? []
      : [{ reason: edge.reason, why: edge.why, kind: kindOf(edge, chart, step) }],
  );
}
