import { describe, expect, it } from 'vitest';
import { readMatcher } from '../../../services/hooks/matcher.ts';
import { readHookSettings } from '../../../services/hooks/settings.ts';

const read = (hooks: unknown, source: 'user' | 'managed' = 'user') =>
  readHookSettings({ source, file: '/home/a/settings.json', hooks });
const command = (more: object = {}) => ({ type: 'command', command: 'true', ...more });

describe('the hooks of a settings file', () => {
  it('are read in their order, with what was not said filled in', () => {
    const { hooks, errors } = read({
      PreToolUse: [
        { matcher: 'Bash', hooks: [command({ timeout: 5, onFailure: 'block' }), command()] },
      ],
      Stop: [{ hooks: [command({ async: true, if: 'Bash(git push:*)' })] }],
    });
    expect(errors).toEqual([]);
    expect(hooks).toMatchObject([
      { event: 'PreToolUse', source: 'user', timeoutMs: 5_000, onFailure: 'block', isAsync: false },
      { event: 'PreToolUse', timeoutMs: 60_000, onFailure: 'continue', condition: undefined },
      { event: 'Stop', isAsync: true, condition: 'Bash(git push:*)' },
    ]);
    expect(hooks[0]?.matches('Bash')).toBe(true);
    expect(hooks[0]?.matches('BashOutput')).toBe(false);
    expect(hooks[2]?.matches('anything')).toBe(true);
  });

  it.each<[string, unknown, string]>([
    ['no object', [], 'hooks'],
    ['an unknown event', { PreTool: [] }, 'hooks.PreTool'],
    ['no list', { Stop: {} }, 'hooks.Stop'],
    ['a group that is none', { Stop: ['x'] }, 'hooks.Stop[0]'],
    ['a matcher that is no text', { Stop: [{ matcher: 1, hooks: [] }] }, 'hooks.Stop[0].matcher'],
    ['a bad matcher', { Stop: [{ matcher: '(', hooks: [] }] }, 'hooks.Stop[0].matcher'],
    ['no hooks', { Stop: [{}] }, 'hooks.Stop[0].hooks'],
    ['another type', { Stop: [{ hooks: [{ type: 'prompt' }] }] }, 'hooks.Stop[0].hooks[0].type'],
    ['no command', { Stop: [{ hooks: [command({ command: ' ' })] }] }, '.hooks[0].command'],
    ['a bad timeout', { Stop: [{ hooks: [command({ timeout: '5' })] }] }, '.hooks[0].timeout'],
    ['a bad onFailure', { Stop: [{ hooks: [command({ onFailure: 1 })] }] }, '.onFailure'],
    ['a bad async', { Stop: [{ hooks: [command({ async: 'yes' })] }] }, '.async'],
    ['a bad if', { Stop: [{ hooks: [command({ if: {} })] }] }, '.if'],
  ])('%s: said with file, place and cure, and never thrown', (_, hooks, path) => {
    const { hooks: read1, errors } = read(hooks);
    expect(read1).toEqual([]);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.file).toBe('/home/a/settings.json');
    expect(errors[0]?.path.endsWith(path)).toBe(true);
    expect(errors[0]?.remedy).not.toBe('');
  });

  it('what is whole works beside what is broken', () => {
    const { hooks, errors } = read({ Stop: [{ hooks: [command(), {}] }], Nope: [] });
    expect(hooks).toHaveLength(1);
    expect(errors).toHaveLength(2);
  });

  it('a hook is not waited for longer than the call that it guards', () => {
    const { hooks, errors } = read({
      PreToolUse: [{ hooks: [command({ timeout: 3_600 })] }],
      SessionEnd: [{ hooks: [command({ timeout: 3_600, async: true })] }],
    });
    expect(hooks.map(({ timeoutMs }) => timeoutMs)).toEqual([60_000, 600_000]);
    expect(errors.map(({ message }) => message)).toEqual([
      'is lowered to 60 s',
      'is lowered to 600 s',
    ]);
  });
});

describe('a matcher', () => {
  it.each<[string | undefined, string, boolean]>([
    [undefined, 'Bash', true],
    ['', 'Bash', true],
    ['*', 'Bash', true],
    ['Bash', 'Bash', true],
    ['Bash', 'BashOutput', false],
    ['Edit|Write', 'Write', true],
    ['Edit|Write', 'MultiEdit', false],
    ['mcp__.*__write', 'mcp__files__write', true],
    ['^Edit$', 'MultiEdit', false],
    ['Edit.*', 'MultiEdit', true],
  ])('%s on %s: %s', (text, query, expected) => {
    const matcher = readMatcher(text);
    expect(matcher.ok && matcher.matches(query)).toBe(expected);
  });

  it('that never ends is cut short, and counts as a match', () => {
    const matcher = readMatcher('^(a+)+$');
    expect(matcher.ok && matcher.matches(`${'a'.repeat(60)}!`)).toBe(true);
  });

  it('that is endless is refused', () => {
    expect(readMatcher('a.'.repeat(5_000)).ok).toBe(false);
  });
});
