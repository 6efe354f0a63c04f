/** The parts of machines/README.md that are read off the machine itself. */
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import { type Edge, edges } from '../conformance/chart.ts';

const edgeOf = (reason: string): Edge => {
  const edge = edges.find((e) => e.reason === reason);
  if (!edge) throw new Error(`no edge carries ${reason}`);
  return edge;
};
const guardText = ({ guard }: Edge) => guard.replaceAll(' | ', ', ');
/** Where the edge leaves, what is heard there, and which fact must hold. */
const placeOf = (edge: Edge) => {
  const heard = edge.on === 'always' ? '' : ` · \`${edge.on}\``;
  const fact = edge.guard ? ` if \`${guardText(edge)}\`` : edge.isElse ? ' else' : '';
  return `${edge.from === 'query' ? 'anywhere' : edge.from}${heard}${fact}`;
};
/** With columns as wide as their widest cell: so the formatter leaves it as it is. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]) => {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows].map(
    (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`,
  );
};

const reasonTable = () => [
  ...table(
    ['↻ another iteration', 'edge', 'what was said', 'why'],
    Object.entries(continueReasons).map(([reason, why]) => {
      const edge = edgeOf(reason);
      const said = edge.actions.includes('retract') ? 'taken back' : 'stands';
      return [`\`${reason}\``, placeOf(edge), said, why];
    }),
  ),
  '',
  ...table(
    ['■ the end', 'edge', 'why'],
    Object.entries(terminalReasons).map(([reason, why]) => [
      ...[`\`${reason}\``, placeOf(edgeOf(reason)), why],
    ]),
  ),
];

const topOf = (id: string) => (id === 'query' ? 'anywhere' : (id.split('.')[0] ?? id));
/** What is written on an arrow between two of the six states. */
const labelOf = (edge: Edge) =>
  edge.reason ?? (edge.guard ? guardText(edge) : edge.on === 'always' ? 'else' : edge.on);

/** The six states and every way between them. Ways within one state are left out. */
const picture = () => {
  const arrows = new Map<string, Set<string>>();
  for (const edge of edges) {
    for (const target of edge.to) {
      const [from, to] = [topOf(edge.from), topOf(target)];
      if (from === to && !edge.reason) continue;
      // one way for all services: a bug of ours is on every question
      const fault = edge.on.startsWith('error ') || target === 'recovery.exhausted';
      if (from === 'anywhere' && fault) continue;
      const labels = arrows.get(`${from} --> ${to}`) ?? new Set();
      labels.add(fault ? 'our own fault' : labelOf(edge));
      arrows.set(`${from} --> ${to}`, labels);
    }
  }
  const drawn = [...arrows].map(([arrow, labels]) => {
    const [from, , to] = arrow.split(' ');
    return `  ${from} -->|"${[...labels].join('<br/>')}"| ${to}`;
  });
  return [
    ...['```mermaid', 'flowchart TD', '  start((" ")) --> preprocess'],
    ...drawn,
    ...['  terminal(((terminal)))', '  anywhere{{anywhere}}', '```'],
  ];
};

const parts: Readonly<Record<string, () => readonly string[]>> = {
  picture,
  reasons: reasonTable,
};

/**
 * The text with every marked part made anew: from `<!-- generated: NAME -->` to `<!-- end -->`.
 * A text without all the marks is a mistake.
 */
export const machineReadme = (text: string): string =>
  Object.entries(parts).reduce((before, [name, make]) => {
    const marks = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`);
    if (!marks.test(before)) throw new Error(`no marks for ${name}`);
    return before.replace(marks, (_, open, close) => `${open}${make().join('\n')}\n${close}`);
  }, text);
