/** The drawing of a chart: nothing of it is lost, nothing lies on anything else, text stays text. */
import Elk from 'elkjs/lib/elk.bundled.js';
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { queryMachine } from '../../machines/query.machine.ts';
import { arrange, doorsOf, rowsOf } from '../../src/inspect/chart/arrange.ts';
import { drawingOf } from '../../src/inspect/chart/drawing.ts';
import { graphOf, groupsOf, type Rectangle } from '../../src/inspect/chart/layout.ts';
import { planOf } from '../../src/inspect/chart/plan.ts';
import { chartOf } from '../../src/inspect/chart-of.ts';

const chart = chartOf(queryMachine);
const plan = planOf(chart);
const edgesIn = (svg: string): ReadonlySet<number> =>
  new Set(
    [...svg.matchAll(/data-e="([\d ]+)"/g)].flatMap(([, ids]) =>
      (ids ?? '').split(' ').map(Number),
    ),
  );

async function geometry() {
  const elk = new Elk.default();
  const rows = rowsOf(groupsOf(await elk.layout(graphOf(plan, []))), chart.id);
  return arrange(plan, rows, groupsOf(await elk.layout(graphOf(plan, doorsOf(plan, rows)))));
}
const overlap = (a: Rectangle, b: Rectangle) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

describe('the drawing of our chart', () => {
  it('is shipped, and has every edge and every state of it', async () => {
    const { svg = '' } = await drawingOf(chart);
    expect([...edgesIn(svg)].sort((a, b) => a - b)).toEqual(chart.edges.map((_, i) => i));
    const states = [...svg.matchAll(/data-n="(\d+)"/g)].map(
      ([, id]) => chart.nodes[Number(id)]?.id,
    );
    // where the chart ends is drawn as the reasons for which it does
    expect(new Set([...states, 'query.terminal'])).toEqual(
      new Set(chart.nodes.map(({ id }) => id)),
    );
  });

  it('lays no state, reason or label on another', async () => {
    const { boxes, labels } = await geometry();
    const leaves = plan.boxes.filter(({ kind }) => kind === 'leaf' || kind === 'exit');
    const placed = [
      ...leaves.map(({ id }) => [id, boxes.get(id)] as const),
      ...[...labels].map(([id, place]) => [`label ${id}`, place] as const),
    ];
    const clashes = placed.flatMap(([id, place], i) =>
      placed
        .slice(i + 1)
        .flatMap(([other, there]) =>
          place && there && overlap(place, there) ? [[id, other]] : [],
        ),
    );
    expect(clashes).toEqual([]);
  });

  it('begins and ends each line at what it connects', async () => {
    const { boxes, lines } = await geometry();
    const touches = (box: Rectangle | undefined, [x, y]: readonly [number, number]) =>
      box !== undefined &&
      x >= box.x - 2 &&
      x <= box.x + box.width + 2 &&
      y >= box.y - 2 &&
      y <= box.y + box.height + 2;
    const loose = [...plan.lines, ...plan.ways].filter(({ id, source, target }) => {
      const points = lines.get(id) ?? [];
      const [first, last] = [points[0], points.at(-1)];
      return (
        !first || !last || !touches(boxes.get(source), first) || !touches(boxes.get(target), last)
      );
    });
    expect(loose.map(({ id }) => id)).toEqual([]);
  });
});

it('another machine is drawn on demand, and what it is called stays text', async () => {
  const hostile = '</text><script>alert(1)</script>&"\u0007\ud800';
  const machine = createMachine({
    id: 'other',
    initial: 'a',
    on: { stop: '.a' },
    states: {
      a: { on: { go: hostile }, after: { 50: 'deep' } },
      [hostile]: { on: { [hostile]: 'a' }, always: { target: 'deep.two', guard: () => false } },
      deep: { initial: 'one', states: { one: { on: { go: 'two' } }, two: { type: 'final' } } },
    },
  });
  const other = chartOf(machine);
  const { svg = '', why } = await drawingOf(other);
  expect(why).toBeUndefined();
  expect(svg).not.toContain('<script');
  expect(edgesIn(svg).size).toBe(other.edges.length);
});
