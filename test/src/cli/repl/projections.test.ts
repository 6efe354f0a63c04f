/** What is drawn and said, from plain values. */
import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { cellsOf, clipCells, wrapCells } from '../../../../src/cli/cells.ts';
import { diffLines } from '../../../../src/cli/diff-lines.ts';
import { printable, visible } from '../../../../src/cli/printable.ts';
import { completedName, helpLines, readLine } from '../../../../src/cli/repl/commands.ts';
import { editorWith, emptyEditor } from '../../../../src/cli/repl/editor.ts';
import { liveRows } from '../../../../src/cli/repl/live-area.ts';
import { answerOf, type Question } from '../../../../src/cli/repl/question.ts';
import { unknownCommandLine } from '../../../../src/cli/repl/reports.ts';
import { nextStatus, type Status, statusText } from '../../../../src/cli/repl/status.ts';
import { emptyView, showMessage } from '../../../../src/cli/view.ts';
import type { SDKMessage } from '../../../../src/wire.ts';

const colors = pc.createColors(false);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
/** Text as only an attacker writes it. */
const nasty = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\u001b[2J',
        '\u001b]0;x\u0007',
        '\r',
        '\u009b31m',
        '\u202e',
        '漢',
        '👍🏽',
        '\t',
        '\n',
      ),
    ),
  )
  .map((parts) => parts.join(''));

describe('untrusted text', () => {
  it.each([printable, visible])('holds nothing that a terminal obeys: %o', (clean) => {
    fc.assert(fc.property(nasty, (text) => void expect(clean(text)).not.toMatch(OBEYED)));
  });

  it('is clean whatever message it comes in', () => {
    const envelope = { uuid: 'u', session_id: 's', parent_tool_use_id: null };
    const messages = (text: string): unknown[] => [
      { type: 'stream_event', event: { delta: { type: 'text_delta', text } }, message_uuid: 'm' },
      { type: 'tombstone', message: { uuid: 'm' } },
      {
        type: 'assistant',
        message: {
          content: [
            { type: 'text', text },
            { type: 'tool_use', id: 'a', name: text, input: { command: text } },
            { type: 'tool_use', id: 'b', name: 'Bash', input: { [text]: text } },
          ],
        },
      },
      ...['a', 'b'].map((id) => ({
        type: 'user',
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: id, content: text }],
        },
        tool_use_result: { structuredPatch: [{ newStart: 1, lines: [`+${text}`, text] }] },
      })),
      { type: 'user', isSynthetic: true, message: { role: 'user', content: text } },
      { type: 'system', subtype: 'informational', level: 'warning', content: text },
      { type: 'system', subtype: 'model_fallback', content: text },
      { type: 'system', subtype: 'history_repaired', repairs: [text] },
      { type: 'system', subtype: 'permission_denied', tool_name: text, message: text },
      {
        ...{ type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 2, retry_delay_ms: 1 },
        ...{ error_status: null, error: text },
      },
      {
        ...{ type: 'result', is_error: true, terminal_reason: 'api_error', num_turns: 1 },
        ...{ duration_ms: 1, total_cost_usd: null, errors: [text] },
      },
    ];
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 200 }), (text, columns) => {
        let state = emptyView;
        for (const message of messages(text)) {
          const full = { ...envelope, ...(message as object) } as SDKMessage;
          const [next, shown] = showMessage(state, full, { isColored: false, columns });
          state = next;
          expect(shown).not.toMatch(OBEYED);
        }
      }),
    );
  });
});

describe('cells', () => {
  it.each([
    ['plain', 5],
    ['漢字', 4],
    ['é', 1],
    ['👍🏽', 2],
    ['ｆｕｌｌ', 8],
    ['', 0],
  ])('%s is %i wide', (text, width) => expect(cellsOf(text)).toBe(width));

  it('rows hold the line and none is too wide; a clipped line fits', () => {
    const line = fc.array(fc.constantFrom('a', ' ', '漢', '👍🏽', 'é')).map((all) => all.join(''));
    fc.assert(
      fc.property(line, fc.integer({ min: 2, max: 30 }), (text, columns) => {
        const rows = wrapCells(text, columns);
        expect(rows.join('')).toBe(text);
        for (const row of rows) expect(cellsOf(row)).toBeLessThanOrEqual(columns);
        expect(cellsOf(clipCells(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe('the live area', () => {
  const terminal = { columns: 20, rows: 24, colors };
  const draw = (text: string, openLine = '') =>
    liveRows({ notes: [], label: '> ', editor: editorWith(text) }, openLine, terminal);

  it('input below the open line, the cursor behind it', () => {
    expect(draw('ab\ncd', 'so far')).toMatchObject({
      rows: ['so far', '> ab', '  cd'],
      cursorRow: 2,
      cursorColumn: 4,
    });
  });

  it('a long line goes on in the next row, a long text is shown around the cursor', () => {
    expect(draw('x'.repeat(20)).rows).toEqual([`> ${'x'.repeat(17)}`, '  xxx']);
    const long = draw(Array.from({ length: 10_000 }, (_, index) => `l${index}`).join('\n'));
    expect(long.rows).toHaveLength(11);
    expect(long.rows.slice(-2)).toEqual(['  l9999', '  … 10000 lines in all']);
  });

  it('never more rows than the terminal, no row wider, the cursor inside', () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '漢', '👍🏽', '\t'))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.nat(), fc.integer({ min: 10, max: 40 }), (words, place, columns) => {
        const editor = { ...emptyEditor, text: words, cursor: place % (words.length + 1) };
        const view = { notes: ['n'.repeat(100)], label: '> ', editor, status: 's' };
        const { rows, cells, cursorRow, cursorColumn } = liveRows(view, '', {
          ...terminal,
          columns,
        });
        expect(rows.length).toBeLessThan(terminal.rows);
        for (const width of cells) expect(width).toBeLessThanOrEqual(columns);
        expect(cursorRow).toBeLessThan(rows.length);
        expect(cursorColumn).toBeLessThan(columns);
      }),
    );
  });
});

describe('lines', () => {
  it.each([
    ['/help', { kind: 'command', name: 'help', argument: '' }],
    ['/model  haiku ', { kind: 'command', name: 'model', argument: 'haiku' }],
    ['/quit', { kind: 'command', name: 'exit', argument: '' }],
    ['/hepl', { kind: 'unknown', name: 'hepl' }],
    ['/constructor', { kind: 'unknown', name: 'constructor' }],
    ['/etc/hosts is a file', { kind: 'prompt', text: '/etc/hosts is a file' }],
    [' /help', { kind: 'prompt', text: ' /help' }],
    ['/review it', { kind: 'prompt', text: '/review it' }],
    ['/ is the root', { kind: 'prompt', text: '/ is the root' }],
  ])('%s', (text, expected) => expect(readLine(text, ['review'])).toEqual(expected));

  it.each([
    ['rev', 'review', ['review']],
    ['mcp', 'mcp__s__fi', ['mcp__s__find', 'mcp__s__fix']],
    ['c', 'c', ['cost', 'clear', 'compact']],
    ['xyz', 'xyz', []],
  ])('Tab behind /%s makes /%s', (name, begin, fitting) => {
    const ofEngine = ['review', 'mcp__s__find', 'mcp__s__fix', 'compact'];
    expect(completedName(name, ofEngine)).toEqual({ begin, fitting });
  });

  it('/help shows what servers call their commands, in one line and obeyed by nobody', () => {
    const description = 'fixes\n it \u001b[2J';
    const command = { type: 'prompt', name: 'fix', description, argumentHint: '<issue>' } as const;
    const lines = helpLines(true, [{ ...command, expand: async () => '' }]);
    expect(lines.find((line) => line.includes('/fix'))).toMatch(
      /^ {2}\/fix <issue> +fixes it \\u001b\[2J$/,
    );
  });

  it('a name that is not known yet: who may bring it is named', () => {
    expect(unknownCommandLine('mcp__s__fix', ['compact'], ['s'])).toMatch(
      /^There is no command \/mcp__s__fix, so nothing was sent\..* Still connecting.*: s\./,
    );
  });
});

describe('answers', () => {
  const question = (updates: Question['updates']): Question => ({
    ...{ toolName: 'Bash', input: {}, reason: undefined, updates },
  });
  const one: Question['updates'] = [
    { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
  ];
  it.each([
    ['y', 'once'],
    [' YES ', 'once'],
    ['a', 'session'],
    ['n', 'deny'],
    ['', 'unclear'],
    ['yes but not there', 'deny'],
    ['a different file please', 'deny'],
  ])('%j: %s', (text, kind) => expect(answerOf(text, question(one)).kind).toBe(kind));

  it('where no rule fits nothing is allowed for the session', () => {
    expect(answerOf('a', question([])).kind).toBe('unclear');
  });
});

it('what goes on, through a turn', () => {
  const envelope = { uuid: 'u', session_id: 's', parent_tool_use_id: null };
  let status: Status = { kind: 'starting' };
  const hear = (message: object): string => {
    status = nextStatus(status, { ...envelope, ...message } as SDKMessage, 1_000);
    return statusText(status, 1_000, 3_600).slice(2);
  };
  const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: `Tool${id}`, input: {} }));
  const answer = (id: string) => ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id }] },
  });
  expect(hear({ type: 'system', subtype: 'status', status: 'requesting' })).toBe(
    'waiting for the model · 3 s',
  );
  expect(hear({ type: 'system', subtype: 'api_retry', retry_delay_ms: 1_500 })).toBe(
    'trying again in 1.5 s · 3 s',
  );
  expect(hear({ type: 'stream_event', event: { type: 'content_block_delta' } })).toBe(
    'answering · 3 s',
  );
  expect(hear({ type: 'assistant', message: { content: calls } })).toBe(
    'running Toola, Toolb · 3 s',
  );
  expect(hear(answer('a'))).toBe('running Toolb · 3 s');
  expect(hear(answer('b'))).toBe('waiting for the model · 3 s');
  status = { kind: 'stopping' };
  expect(hear({ type: 'system', subtype: 'status', status: 'requesting' })).toBe('stopping · 3 s');
});

it('changes have the numbers of the new file, and a bound', () => {
  const hunk = { oldStart: 3, oldLines: 2, newStart: 3, newLines: 2 };
  const lines = diffLines([{ ...hunk, lines: [' same', '-old', '+new'] }], colors, 80);
  expect(lines).toEqual(['    3   same', '      - old', '    4 + new']);
  const many = Array.from({ length: 100 }, (_, index) => `+${index}`);
  const bounded = diffLines([{ ...hunk, lines: many }], colors, 80);
  expect(bounded.at(-1)).toContain('76 more lines');
});
