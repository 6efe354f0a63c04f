/**
 * What must hold of a chart as drawn. Each rule names all that breaks it; counted on the machine,
 * not on its source.
 */
import { readFileSync } from 'node:fs';
import { reducers } from '../../machines/advance.ts';
import { delays } from '../../machines/limits.ts';
import { questions } from '../../machines/ports.ts';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import { type Drawn, type Edge, isTransient, nameOf, reasons, shortId } from './chart.ts';

export type DrawnRule = (chart: Drawn) => readonly string[];

const events = readFileSync(new URL('../../machines/events.ts', import.meta.url), 'utf8');
const union = events.slice(
  events.indexOf('export type QueryEvent'),
  events.indexOf('/** What the chart says to the host'),
);
/** The types are gone at run time: the words are read from the source. */
export const alphabet = [...union.matchAll(/type: '([^']+)'/g)].map(([, word]) => word as string);

const ids = (edges: readonly Edge[]) => edges.map(({ id }) => id);
const heardBy = ({ machine }: Drawn) =>
  machine.events.filter((type) => !type.startsWith('xstate.')) as readonly string[];
const usedIn = ({ nodes, edges }: Drawn) =>
  new Set([
    ...edges.flatMap(({ actions, guard }) => [...actions, guard.split(' ')[0] ?? '']),
    ...nodes.flatMap(({ entry, exit }) => [...entry, ...exit].map(nameOf)),
  ]);
const waitsOf = ({ edges }: Drawn) =>
  edges.filter(({ on }) => on.startsWith('after ')).map(({ on }) => on.slice(6));
const isAbove = (above: string, id: string) => id === above || id.startsWith(`${above}.`);
/** No fault: a wait that was wished for, calls that are answered as unknown, attachments. */
const SAID = new Set(['after backoffMs', 'after toolsMs', 'after attachMs']);
/** A place where a reason stands, and what it says there. */
const reasonFault = (edge: Edge, reason: string): string[] => {
  const to = reason in continueReasons ? 'preprocess' : 'terminal';
  const why = { ...continueReasons, ...terminalReasons }[reason as 'completed'];
  // meta for inspectors, the description for pictures, the params for the action
  const saysIt = edge.reasons.length === 3 && edge.reasons.every((one) => one === reason);
  const isRight = saysIt && edge.why === why && edge.to.join() === to;
  return isRight ? [] : [`${edge.id}: ${reason}`];
};

export const drawnRules: Readonly<Record<string, DrawnRule>> = {
  'each reason stands on exactly one edge, and says so in three places': ({ edges }) =>
    reasons.flatMap((reason) => {
      const [edge, ...more] = edges.filter((e) => e.reasons.includes(reason));
      return edge && more.length === 0 ? reasonFault(edge, reason) : [`${reason}: ${ids(more)}`];
    }),
  'a reason stands on every edge that begins another iteration or ends the query': ({ edges }) =>
    ids(
      edges.filter(
        ({ to, reason }) => (to.includes('preprocess') || to.includes('terminal')) && !reason,
      ),
    ),
  'reasons have one reducer each, if they continue': () =>
    Object.keys(continueReasons).filter((reason) => !(reason in reducers)),
  'every key that an edge listens to is a word (a misspelt one would be silent)': (chart) =>
    heardBy(chart).filter((type) => !alphabet.includes(type)),
  'no word has nobody who listens': (chart) =>
    alphabet.filter((type) => !heardBy(chart).includes(type)),
  'every action and guard is used': (chart) => {
    const { actions, guards } = chart.machine.implementations;
    const used = usedIn(chart);
    return [...Object.keys(actions), ...Object.keys(guards)].filter((name) => !used.has(name));
  },
  'every service is asked': ({ nodes }) => {
    const asked = nodes.flatMap(({ invoke }) => invoke.map(({ src }) => src));
    return Object.keys(questions).filter((name) => !asked.includes(name));
  },
  'every delay is waited for': (chart) =>
    Object.keys(delays).filter((name) => !waitsOf(chart).includes(name)),
  'every wait is a delay (a misspelt one would never end)': (chart) =>
    waitsOf(chart).filter((name) => !(name in delays)),
  'the states are the six of the card, and the end': ({ machine }) => {
    const six = ['preprocess', 'sampling', 'toolRun', 'recovery', 'stopHooks'];
    const states = Object.keys(machine.root.states);
    const isSame = states.join() === [...six, 'terminal'].join();
    return isSame && machine.root.states.terminal?.type === 'final' ? [] : states;
  },
  // the root's own ways are endings
  'every state has a way out': ({ nodes, edges }) =>
    nodes
      .filter(({ type }) => type === 'atomic')
      .filter((node) => {
        const ways = edges.filter((e) => e.to.length > 0 && isAbove(e.node.id, node.id));
        return !ways.some((e) => e.node.id !== 'query');
      })
      .map(({ id }) => id),
  'every state that waits has a deadline of its own, or waits for a person': ({ waitingNodes }) =>
    waitingNodes
      .filter((node) => {
        const deadline = [...node.transitions.keys()].some((t) => t.startsWith('xstate.after.'));
        return deadline === node.tags.includes('awaitingPerson');
      })
      .map(({ id }) => id),
  'a person is waited for in one place only': ({ nodes }) => {
    const asking = nodes.filter(({ tags }) => tags.includes('awaitingPerson'));
    return asking.map(({ id }) => id).filter((id) => id !== 'query.toolRun.asking');
  },
  'a state that is left at once hears nothing': ({ nodes }) =>
    nodes
      .filter((node) => node.type === 'atomic' && isTransient(node) && node.transitions.size > 0)
      .map(({ id }) => id),
  'a state that asks a service says what happens when it throws': ({ nodes, edges }) => {
    const heard = new Set(edges.map(({ on }) => on));
    return nodes.flatMap(({ invoke }) =>
      invoke.map(({ id }) => id).filter((id) => !heard.has(`error ${id}`)),
    );
  },
  'abort and the clock are the root’s, so that they win everywhere': ({ edges }) =>
    ids(edges.filter(({ on, from }) => /^(abort|time\.ranOut)$/.test(on) && from !== 'query')),
  'an ending settles, then finishes; another iteration is advanced to': ({ edges }) =>
    ids(
      edges.filter(({ to, actions }) => {
        const last = actions.slice(-2).join();
        if (to.includes('terminal')) return last !== 'settle,finish';
        return to.includes('preprocess') && actions.at(-1) !== 'advance';
      }),
    ),
  'a service that throws or is late is never passed over in silence': ({ edges }) =>
    ids(
      edges.filter(
        ({ on, actions }) =>
          (on.startsWith('error ') || (on.startsWith('after ') && !SAID.has(on))) &&
          !actions.includes('withhold') &&
          !actions.includes('warn'),
      ),
    ),
  'an edge behind one without a guard is never taken': ({ edges }) =>
    ids(edges.filter(({ id, guard }, i) => guard === '' && edges[i + 1]?.id === nextId(id))),
};

/** `a · always · 1` for `a · always · 0`. */
const nextId = (id: string) => id.replace(/\d+$/, (n) => String(Number(n) + 1));

/** Names of shortId for reports. */
export const brokenRules = (chart: Drawn): readonly string[] =>
  Object.entries(drawnRules).flatMap(([name, rule]) => {
    const found = rule(chart);
    return found.length > 0 ? [`${name}: ${found.map(shortId).join(', ')}`] : [];
  });
