/** What people define in files: heads, skills, commands, agents. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadAgents } from '../../../services/agents/load-agents.ts';
import { listField, parseFrontMatter, textField } from '../../../services/skills/front-matter.ts';
import { expandTemplate, loadCommands } from '../../../services/skills/load-commands.ts';
import { loadSkills, skillText } from '../../../services/skills/load-skills.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'skills-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const write = (files: Readonly<Record<string, string>>) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
};

describe('heads', () => {
  it.each([
    ['---\nname: a\ndescription: b\n---\nbody', { name: 'a', description: 'b' }, 'body'],
    ['---\r\nname: a\r\n---\r\nbody', { name: 'a' }, 'body'],
    ['---\n---\nbody', {}, 'body'],
    ['no head', {}, 'no head'],
    ['---\nnever closed', {}, '---\nnever closed'],
    // what people write: a colon in a sentence is no YAML
    ['---\ndescription: Use when: it rains\n---\nx', { description: 'Use when: it rains' }, 'x'],
    // a bomb of references makes nothing but text
    ['---\na: &a [1,2]\nb: [*a,*a]\n---\nx', { a: '&a [1,2]', b: '[*a,*a]' }, 'x'],
  ])('%j', async (text, fields, body) => {
    expect(await parseFrontMatter(text)).toEqual({ fields, body });
  });

  it('lists in both notations; commas in a rule belong to it', async () => {
    const of = async (text: string) =>
      listField(await parseFrontMatter(`---\n${text}\n---`), 'tools');
    expect(await of('tools: Read, Bash(git log:*, git diff:*), Grep')).toEqual([
      'Read',
      'Bash(git log:*, git diff:*)',
      'Grep',
    ]);
    expect(await of('tools:\n  - Read\n  - Grep')).toEqual(['Read', 'Grep']);
    expect(await of('other: x')).toBeUndefined();
  });

  it('any text is read without an error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), async (head, body) => {
        const parsed = await parseFrontMatter(`---\n${head}\n---\n${body}`);
        expect(typeof parsed.body).toBe('string');
        expect(textField(parsed, 'name') ?? '').toBeTypeOf('string');
      }),
      { numRuns: 200 },
    );
  });
});

describe('skills', () => {
  it('one line at first, the whole text when it is opened', async () => {
    write({
      's/pdf/SKILL.md': '---\nname: pdf\ndescription: Fills forms\n---\nUse fill.py.',
      's/quiet/SKILL.md': '---\ndescription: x\ndisable-model-invocation: true\n---\ny',
      's/nothing/SKILL.md': 'no description',
      's/file.md': 'no folder',
    });
    const skills = await loadSkills({ path: join(root, 's'), prefix: 'office' });
    expect(skills.map(({ name, isForPeopleOnly }) => [name, isForPeopleOnly])).toEqual([
      ['office:pdf', false],
      ['office:quiet', true],
    ]);
    const [pdf] = skills;
    expect(JSON.stringify(pdf)).not.toContain('fill.py');
    expect(pdf && (await skillText(pdf, 'form.pdf'))).toBe(
      `Skill office:pdf. Its folder, for what it refers to: ${join(root, 's/pdf')}\n\nUse fill.py.\n\nArguments: form.pdf`,
    );
  });

  it('a link out of the project is no skill of it', async () => {
    write({ 'out/SKILL.md': '---\ndescription: d\n---\nx' });
    mkdirSync(join(root, 'repo/s'), { recursive: true });
    symlinkSync(join(root, 'out'), join(root, 'repo/s/out'));
    expect(await loadSkills({ path: join(root, 'repo/s'), within: join(root, 'repo') })).toEqual(
      [],
    );
    expect(await loadSkills({ path: join(root, 'repo/s') })).toHaveLength(1);
  });
});

describe('commands', () => {
  it('have the name of their file and its folders', async () => {
    write({
      'c/fix.md': '---\ndescription: Fixes\nargument-hint: <issue>\n---\nFix $1 on $2: $ARGUMENTS',
      'c/web/test.md': 'Test it',
      'c/empty.md': '---\ndescription: x\n---\n',
    });
    const commands = await loadCommands({ path: join(root, 'c') });
    expect(commands.map(({ name, description }) => [name, description])).toEqual([
      ['fix', 'Fixes'],
      ['web:test', 'Test it'],
    ]);
    expect(await commands[0]?.expand('42 "my branch"')).toBe('Fix 42 on my branch: 42 "my branch"');
    expect(await commands[1]?.expand('now')).toBe('Test it\n\nnow');
  });

  it('what stands in an argument is not expanded again', () => {
    fc.assert(
      fc.property(fc.string(), (argument) => {
        expect(expandTemplate('<$ARGUMENTS>', argument)).toBe(`<${argument}>`);
      }),
    );
    expect(expandTemplate('$1 $10 $ARGUMENTSX', '$2 b')).toBe(
      '$2 $10 $ARGUMENTSX\n\n$2 b'.split('\n')[0],
    );
  });
});

describe('agents', () => {
  it('a head and a prompt; without either it is none', async () => {
    write({
      'a/review.md':
        '---\nname: reviewer\ndescription: Reads\ntools: Read, Grep\nmodel: haiku\nmaxTurns: 5\n---\nYou read.',
      'a/bad.md': '---\nname: x\n---\nNo description',
    });
    expect(await loadAgents({ path: join(root, 'a') })).toEqual([
      {
        name: 'reviewer',
        description: 'Reads',
        prompt: 'You read.',
        tools: ['Read', 'Grep'],
        model: 'haiku',
        maxTurns: 5,
      },
    ]);
    expect(await loadAgents({ path: join(root, 'nowhere') })).toEqual([]);
  });
});
