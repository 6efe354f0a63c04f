/**
 * A chart as SVG. Pure: the same chart and geometry give the same text, and every text of the
 * machine is escaped. What can be lit carries numbers: `data-n` a place in `chart.nodes`, `data-e`
 * places in `chart.edges`. Colours are the page's: classes only.
 */
import type { Chart } from '../protocol.ts';
import type { Geometry } from './arrange.ts';
import { COUNT, heights, labelLines, type Point, type Rectangle, round } from './layout.ts';
import type { Box, Label, Line, Plan, Row } from './plan.ts';

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** XML has no place for most control characters, escaped or not: they become a question mark. */
const escaped = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '?')
    .replace(/[&<>"']/g, (letter) => escapes[letter] ?? letter);

const MARGIN = 14;

export function svgOf(chart: Chart, plan: Plan, geometry: Geometry): string {
  const at = (id: string): Rectangle | undefined => geometry.boxes.get(id);
  const draw = (boxes: readonly Box[]) =>
    boxes.map((box) => (at(box.id) ? boxSvg(box, at(box.id) as Rectangle, chart) : '')).join('');
  const outerFirst = [...plan.boxes].sort((a, b) => depthOf(a, plan) - depthOf(b, plan));
  const compounds = draw(outerFirst.filter(isOuter));
  const leaves = draw(outerFirst.filter((box) => !isOuter(box)));
  const lines = [...plan.ways, ...plan.lines]
    .map((line) => lineSvg(line, geometry.lines.get(line.id)))
    .join('');
  const labels = plan.lines.map((line) => labelsSvg(line, geometry.labels.get(line.id))).join('');
  const width = Math.ceil(geometry.width + MARGIN * 2);
  const height = Math.ceil(geometry.height + MARGIN * 2);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" width="${width}" height="${height}">`,
    `<defs>${tones.map(markerSvg).join('')}</defs>`,
    `<g class="compounds">${compounds}</g><g class="lines">${lines}</g>`,
    `<g class="leaves">${leaves}</g><g class="labels">${labels}</g></svg>`,
  ].join('\n');
}

const tones = ['plain', 'continue', 'terminal', 'error', 'hot', 'covered', 'missed'] as const;
const markerSvg = (tone: (typeof tones)[number]) =>
  `<marker id="arrow-${tone}" class="arrow ${tone}" viewBox="0 0 8 8" refX="7.2" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path d="M0 .6L7.6 4L0 7.4z"/></marker>`;

const isOuter = ({ kind }: Box) => kind === 'group' || kind === 'compound';
const depthOf = (box: Box, plan: Plan): number => {
  const parent = plan.boxes.find(({ id }) => id === box.parent);
  return parent === undefined || parent === box ? 0 : 1 + depthOf(parent, plan);
};

function boxSvg(box: Box, place: Rectangle, chart: Chart): string {
  const { x, y, width, height } = place;
  if (box.kind === 'exit') return exitsSvg(box, place);
  const node = box.node === undefined ? undefined : chart.nodes[box.node];
  if (node === undefined) return '';
  const isRoot = node.parent === null;
  const kind = isOuter(box) ? `compound${isRoot ? ' everywhere' : ''}` : `leaf ${node.type}`;
  const middle = isOuter(box) ? 14 : width / 2;
  const anchor = isOuter(box) ? '' : ' text-anchor="middle"';
  const isFirst = chart.nodes.some(({ initial }) => initial === node.id);
  const parts = [
    `<rect class="body" width="${width}" height="${height}" rx="${isOuter(box) ? 12 : 8}"/>`,
    node.type === 'final'
      ? `<rect class="inner" x="3" y="3" width="${width - 6}" height="${height - 6}" rx="6"/>`
      : '',
    `<text class="name" x="${middle}" y="19"${anchor}>${escaped(box.title)}</text>`,
    ...box.rows.map((row, i) => rowSvg(row, i, width)),
    isFirst
      ? '<path class="start" d="M-11 15H-3"/><circle class="start" cx="-11" cy="15" r="3.5"/>'
      : '',
  ];
  return `<g class="state ${kind}" data-n="${box.node}" transform="translate(${x} ${y})">${parts.join('')}</g>`;
}

const icons: Readonly<Record<Row['kind'], string>> = { service: '⚡', deadline: '◷', heard: '↺' };
function rowSvg(row: Row, i: number, width: number): string {
  const y = heights.title + i * heights.row;
  const faults =
    row.faults.length > 0
      ? `<g class="fault" data-e="${row.faults.join(' ')}"><rect class="hit" x="${width - 24}" y="${y - 2}" width="20" height="17"/><text x="${width - 14}" y="${y + 11}" text-anchor="middle">⚠</text></g>`
      : '';
  const edges = row.edges.length > 0 ? ` data-e="${row.edges.join(' ')}"` : '';
  const countAt = width - (row.faults.length > 0 ? 26 : 8);
  return (
    `<g class="row ${row.kind} ${row.tone}"${edges} data-row="${escaped(row.text)}"><rect class="hit" x="5" y="${y - 2}" width="${width - (faults ? 30 : 10)}" height="17" rx="4"/>` +
    `<text class="icon" x="10" y="${y + 11}">${row.tone === 'terminal' ? '◉' : icons[row.kind]}</text>` +
    `<text x="25" y="${y + 11}">${escaped(row.text)}</text>` +
    `<text class="count" x="${countAt}" y="${y + 11}" text-anchor="end"/>` +
    (row.kind === 'deadline'
      ? `<text class="left" x="${countAt}" y="${y + 11}" text-anchor="end"/>`
      : '') +
    `</g>${faults}`
  );
}

function exitsSvg(box: Box, { x, y, width, height }: Rectangle): string {
  const rows = box.labels.map(({ text, edge, tone }, i) => {
    const top = 3 + i * heights.exit;
    return (
      `<g class="exit ${tone}" data-e="${edge}"><rect class="hit" x="3" y="${top}" width="${width - 6}" height="${heights.exit}" rx="6"/>` +
      (tone === 'terminal'
        ? `<circle cx="14" cy="${top + 9.5}" r="5"/><circle class="dot" cx="14" cy="${top + 9.5}" r="2.4"/>`
        : tone === 'continue'
          ? `<path class="mark" d="M18.5 ${top + 9.5}a4.6 4.6 0 1 1 -1.6 -3.5m.3 -2.6v2.9h-2.9"/>`
          : `<path class="mark" d="M9 ${top + 9.5}h9m-3.5 -3.5l3.5 3.5l-3.5 3.5"/>`) +
      `<text x="26" y="${top + 14}">${escaped(text)}</text>` +
      `<text class="count" x="${width - 8}" y="${top + 14}" text-anchor="end"/></g>`
    );
  });
  return `<g class="exits ${box.labels[0]?.tone}" transform="translate(${x} ${y})"><rect class="body" width="${width}" height="${height}" rx="9"/>${rows.join('')}</g>`;
}

function lineSvg(line: Line, points: readonly Point[] | undefined): string {
  if (points === undefined || points.length < 2) return '';
  const path = pathOf(points);
  return `<g class="line ${line.tone}" data-e="${line.edges.join(' ')}"><path class="hit" d="${path}"/><path class="stroke" d="${path}" marker-end="url(#arrow-${line.tone})"/></g>`;
}

function labelsSvg(line: Line, place: Rectangle | undefined): string {
  if (place === undefined) return '';
  const { x, y, width } = place;
  let top = y + 2;
  const rows = labelLines(line).map((texts, i) => {
    const { edge, tone } = line.labels[i] as Label;
    const height = texts.length * heights.label;
    const spans = texts.map(
      (text, k) =>
        `<tspan x="${round(x + (width - COUNT) / 2)}" y="${round(top + 11.5 + k * heights.label)}">${escaped(text)}</tspan>`,
    );
    const row = `<g class="label ${tone}" data-e="${edge}"><rect class="hit" x="${x}" y="${round(top)}" width="${width}" height="${height}" rx="4"/><text text-anchor="middle">${spans.join('')}</text><text class="count" x="${round(x + width - 3)}" y="${round(top + 11)}" text-anchor="end"/></g>`;
    top += height;
    return row;
  });
  return rows.join('');
}

/** A line with round corners. */
function pathOf(points: readonly Point[], radius = 7): string {
  const first = points[0] as Point;
  const last = points.at(-1) as Point;
  let path = `M${first[0]} ${first[1]}`;
  for (let i = 1; i < points.length - 1; i += 1) {
    const [before, here, after] = points.slice(i - 1, i + 2) as [Point, Point, Point];
    const into = Math.hypot(here[0] - before[0], here[1] - before[1]);
    const out = Math.hypot(after[0] - here[0], after[1] - here[1]);
    const bend = Math.min(radius, into / 2, out / 2);
    if (bend < 1) {
      path += `L${here[0]} ${here[1]}`;
      continue;
    }
    const [ax, ay] = toward(here, before, bend / into);
    const [bx, by] = toward(here, after, bend / out);
    path += `L${ax} ${ay}Q${here[0]} ${here[1]} ${bx} ${by}`;
  }
  return `${path}L${last[0]} ${last[1]}`;
}
const toward = (from: Point, to: Point, part: number): Point => [
  round(from[0] + (to[0] - from[0]) * part),
  round(from[1] + (to[1] - from[1]) * part),
];
