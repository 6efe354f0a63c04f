/** What must hold of the chart as drawn. Counted on the machine itself, not on its source. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { reducers } from '../../machines/advance.ts';
import { delays } from '../../machines/limits.ts';
import { questions } from '../../machines/ports.ts';
import { queryMachine } from '../../machines/query.machine.ts';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';
import {
  edges,
  isTransient,
  nameOf,
  nodeOf,
  nodes,
  reasons,
  shortId,
  waitingNodes,
} from './chart.ts';
import { all } from './world.ts';

const machines = new URL('../../machines/', import.meta.url);
const sources = readdirSync(machines).filter((file) => file.endsWith('.ts'));
const textOf = (file: string) => readFileSync(new URL(file, machines), 'utf8');

describe('reasons', () => {
  it.each(reasons)('%s stands on exactly one edge, and says so in three places', (reason) => {
    const [edge, ...more] = edges.filter((e) => e.reason === reason);
    expect(more.map(({ id }) => id)).toEqual([]);
    // meta for inspectors, the description for pictures, the params for the action
    expect(edge?.reasons).toEqual([reason, reason, reason]);
    expect(edge?.to).toEqual([reason in continueReasons ? 'preprocess' : 'terminal']);
    expect(edge?.why).toBe({ ...continueReasons, ...terminalReasons }[reason as 'completed']);
  });
  it('stand on every edge that begins another iteration or ends the query', () => {
    const unnamed = edges.filter(
      ({ to, reason }) => (to.includes('preprocess') || to.includes('terminal')) && !reason,
    );
    expect(unnamed.map(({ id }) => id)).toEqual([]);
  });
  it('have one reducer each, if they continue', () => {
    expect(Object.keys(reducers).sort()).toEqual(Object.keys(continueReasons).sort());
  });
  it('are the 13 and 21 of the design', () => {
    expect([Object.keys(continueReasons).length, Object.keys(terminalReasons).length]).toEqual([
      13, 21,
    ]);
  });
});

describe('the alphabet', () => {
  // The types are gone at run time: the words are read from the source.
  const events = textOf('events.ts');
  const union = events.slice(
    events.indexOf('export type QueryEvent'),
    events.indexOf('/** What the chart says to the host'),
  );
  const alphabet = [...union.matchAll(/type: '([^']+)'/g)].map(([, word]) => word as string);
  const heard = queryMachine.events.filter((type) => !type.startsWith('xstate.'));

  it('is found', () => expect(alphabet).toContain('stream.toolUse'));
  it('has every key that an edge listens to (a misspelt one would be silent)', () => {
    expect(heard.filter((type) => !alphabet.includes(type))).toEqual([]);
  });
  it('has no word that nobody listens to', () => {
    expect(alphabet.filter((type) => !(heard as readonly string[]).includes(type))).toEqual([]);
  });
  it('is spoken completely by the paths', () => {
    const letters = [...Object.values(all.answers), ...Object.values(all.heard)];
    const spoken = new Set(letters.flatMap((o) => Object.values(o)).map(({ type }) => type));
    expect(alphabet.filter((type) => !spoken.has(type as 'abort'))).toEqual([]);
  });
});

describe('names', () => {
  const used = new Set([
    ...edges.flatMap(({ actions, guard }) => [...actions, guard.split(' ')[0]]),
    ...nodes.flatMap(({ entry, exit }) => [...entry, ...exit].map(nameOf)),
  ]);
  const { actions, guards } = queryMachine.implementations;

  it.each(Object.keys(actions))('action %s is used', (name) => expect(used).toContain(name));
  it.each(Object.keys(guards))('guard %s is used', (name) => expect(used).toContain(name));
  it.each(Object.keys(questions))('service %s is asked', (name) => {
    expect(nodes.flatMap(({ invoke }) => invoke.map(({ src }) => src))).toContain(name);
  });
  it.each(Object.keys(delays))('delay %s is waited for', (name) => {
    expect(edges.map(({ on }) => on)).toContain(`after ${name}`);
  });
  it('of waits are delays (a misspelt one would never end)', () => {
    const waits = edges.filter(({ on }) => on.startsWith('after ')).map(({ on }) => on.slice(6));
    expect(waits.filter((name) => !(name in delays))).toEqual([]);
  });
});

describe('states', () => {
  const atomic = nodes.filter(({ type }) => type === 'atomic');

  it('are the six of the card, and the end', () => {
    expect(Object.keys(queryMachine.root.states)).toEqual([
      ...['preprocess', 'sampling', 'toolRun', 'recovery', 'stopHooks', 'terminal'],
    ]);
    expect(nodeOf('terminal').type).toBe('final');
  });
  it.each(atomic.map((node) => [shortId(node.id), node] as const))(
    '%s has a way out',
    (_, node) => {
      const ways = edges.filter((e) => e.to.length > 0 && isAbove(e.node.id, node.id));
      expect(ways.some((e) => e.node.id !== 'query')).toBe(true); // the root's own ways are endings
    },
  );
  it.each(waitingNodes.map((node) => [shortId(node.id), node] as const))(
    '%s has a deadline of its own, or waits for a person',
    (_, node) => {
      const deadline = [...node.transitions.keys()].some((t) => t.startsWith('xstate.after.'));
      expect(deadline).not.toBe(node.tags.includes('awaitingPerson'));
    },
  );
  it('wait for a person in one place only', () => {
    const asking = nodes.filter(({ tags }) => tags.includes('awaitingPerson'));
    expect(asking.map(({ id }) => id)).toEqual(['query.toolRun.asking']);
  });
  it('that are left at once hear nothing', () => {
    for (const node of atomic.filter(isTransient)) expect(node.transitions.size).toBe(0);
  });
  it('that ask a service say what happens when it throws', () => {
    for (const { invoke } of nodes) {
      for (const { id } of invoke) {
        expect(edges.map(({ on }) => on)).toContain(`error ${id}`);
      }
    }
  });
  it('leave abort and the clock to the root, so that they win everywhere', () => {
    for (const on of ['abort', 'time.ranOut']) {
      expect(new Set(edges.filter((e) => e.on === on).map(({ from }) => from))).toEqual(
        new Set(['query']),
      );
    }
  });
});

describe('the folder', () => {
  it.each(sources)('%s imports xstate and its own folder', (file) => {
    for (const [, from] of textOf(file).matchAll(/from '([^']+)'/g)) {
      if (from !== 'escapement/machine') expect(from).toMatch(/^(xstate$|\.\/)/);
    }
  });
  it.each(sources)('%s has no clock, no dice and no I/O', (file) => {
    const code = textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(code).not.toMatch(
      /\b(Date|Math\.random|randomUUID|crypto|process|console|setTimeout|fetch|performance|import\()/,
    );
  });
  it('keeps the chart short', () => {
    const lines = textOf('query.machine.ts').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(210);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });
});

function isAbove(above: string, id: string) {
  return id === above || id.startsWith(`${above}.`);
}
