/** A recording that is served is the recording: nothing is cut or encoded a second time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { assign, createActor, setup } from 'xstate';
import { readRecording } from '../../src/inspect/recorded-run.ts';
import { recordingOf } from '../../src/inspect/recording.ts';
import type { Run } from '../../src/inspect/run.ts';
import { startInspector } from '../../src/inspect/start-inspector.ts';

const list = setup({
  types: {} as { context: { items: readonly object[]; $: string }; events: { type: 'add' } },
}).createMachine({
  id: 'list',
  context: { items: Array.from({ length: 80 }, (_, n) => ({ n })), $: 'mine' },
  on: { add: { actions: assign({ items: ({ context }) => [...context.items, { n: 80 }] }) } },
});

const linesOf = async (recording: AsyncIterable<string>) => {
  const lines: string[] = [];
  for await (const line of recording) lines.push(line);
  return lines;
};

it('live, written, served and written again: the same lines, and the same places in them', async () => {
  const inspector = await startInspector();
  const actor = createActor(list, { inspect: inspector.inspect }).start();
  actor.send({ type: 'add' });
  const first = await linesOf(inspector.recording());
  await inspector.close();
  actor.stop();
  const folder = mkdtempSync(path.join(tmpdir(), 'escapement-recording-'));
  const file = path.join(folder, 'run.jsonl');
  writeFileSync(file, first.join(''));
  const run: Run = await readRecording(file);
  rmSync(folder, { recursive: true });
  const again = await linesOf(recordingOf(run));
  expect(again.slice(1)).toEqual(first.slice(1));
  const seq = run.list.next - 1;
  const at = (...where: (string | number)[]) => run.piece({ what: 'context', seq }, where).value;
  expect(at('items', 80, 'n')).toBe(80);
  expect(at('items')).toMatchObject({ $: { is: 'array', length: 81 } });
  expect(at('$')).toBe('mine');
  expect(at()).toMatchObject({ $$: 'mine' });
  expect(run.piece({ what: 'context', seq }, ['items', 3]).missing).toContain('does not hold it');
});

describe('a recording that somebody has changed', () => {
  const base = { seq: 0, instances: [] };
  const hello = { protocol: 1, title: 'x', charts: [], base, source: 'recording' };
  const step = {
    ...{ kind: 'step', seq: 0, at: 1, instance: 'a', n: 0, event: 'go', status: 'active' },
    ...{ from: [], on: ['a'], to: ['a'], edges: [], actions: [], diff: [], moreOps: 0 },
  };
  const read = async (...lines: unknown[]) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'escapement-recording-'));
    const file = path.join(folder, 'run.jsonl');
    writeFileSync(file, [hello, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
    return await readRecording(file).finally(() => rmSync(folder, { recursive: true }));
  };

  it.each<[string, unknown, RegExp]>([
    ['a chart of nothing', { kind: 'chart' }, /run\.jsonl:2: the chart is not sound \(chart: /],
    [
      'a chart of other types',
      { kind: 'chart', chart: { key: 1, id: 'x', nodes: [], edges: [] } },
      /:2: the chart is not sound \(chart\.key: /,
    ],
    ['a step without a place', { kind: 'step', at: 1, instance: 'a' }, /:2: the step .*seq/],
    [
      'a step of other types',
      { ...step, on: 'everywhere' },
      /:2: the step is not sound \(on: must be a list\)/,
    ],
    [
      'a step with an edge of nothing',
      { ...step, edges: [{ id: 'a' }, null] },
      /:2: the step is not sound \(edges\.1: must be an object\)/,
    ],
    ['a body without parts', { kind: 'body', id: 'r' }, /:2: the body is not sound \(ops: /],
  ])('%s: file, line and what to do', async (_, line, expected) => {
    await expect(read(line)).rejects.toThrow(expected);
    await expect(read(line)).rejects.toThrow(/export the recording again/);
  });

  const raw = async (text: string) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'escapement-recording-'));
    const file = path.join(folder, 'run.jsonl');
    writeFileSync(file, text);
    return await readRecording(file).finally(() => rmSync(folder, { recursive: true }));
  };
  const note = (seq: number) =>
    JSON.stringify({ kind: 'note', seq, instance: '', at: 1, level: 'info', text: 'said' });

  it('cut in its last line: what is whole is shown, and the page is told', async () => {
    const whole = await raw([JSON.stringify(hello), note(1), note(2), ''].join('\n'));
    expect(whole.list.next - whole.list.first).toBe(2);
    expect(whole.hello().unknown).toBeUndefined();
    for (const end of ['', '\n']) {
      const cut = await raw(
        [JSON.stringify(hello), note(1), note(2).slice(0, -9)].join('\n') + end,
      );
      expect(cut.list.next - cut.list.first).toBe(1);
      expect(cut.hello().unknown).toEqual([expect.stringContaining('the recording was cut')]);
    }
  });

  it('a first line that is not sound is refused as any other', async () => {
    await expect(raw(JSON.stringify({ ...hello, base: {} }))).rejects.toThrow(
      /:1: the first line is not sound \(base\.seq: must be a place\): export/,
    );
    await expect(raw('')).rejects.toThrow(/:1: is empty: export the recording again/);
  });

  it('cut anywhere else, it is refused: in the middle, in its first line', async () => {
    const broken = note(1).slice(0, -9);
    await expect(raw([JSON.stringify(hello), broken, note(2)].join('\n'))).rejects.toThrow(
      /run\.jsonl:2: is no JSON object/,
    );
    await expect(raw(JSON.stringify(hello).slice(0, -3))).rejects.toThrow(
      /run\.jsonl:1: is no JSON/,
    );
    await expect(raw([JSON.stringify(hello), '[]'].join('\n'))).rejects.toThrow(
      /:2: is no JSON object/,
    );
  });

  it('passes over kinds that a newer version may have, and names of every object', async () => {
    const run = await read(
      { kind: 'hologram' },
      { kind: '__proto__' },
      { kind: 'constructor' },
      {},
    );
    expect(run.list.next).toBe(run.list.first);
  });
});
