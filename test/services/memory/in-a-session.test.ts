/** Instructions, skills, commands and agents from files, in whole turns of the real engine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { callTool, say, toolNames, toolResults } from '../../../src/testing/index.ts';
import { heard, type Place, tell } from '../../tools/story.ts';

const files =
  (texts: Readonly<Record<string, string>>) =>
  ({ cwd }: Place): void => {
    for (const [name, text] of Object.entries(texts)) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), text);
    }
  };
const bodies = (told: { requests: readonly { body: unknown }[] }) =>
  told.requests.map(({ body }) => JSON.stringify(body));
const read = (path: string) => callTool('Read', { file_path: path });
const parts = files({
  'CLAUDE.md': 'top rule',
  'pkg/CLAUDE.md': 'pkg rule',
  'pkg/a.ts': 'a',
  'pkg/b.ts': 'b',
  'pkg/.claude/skills/paint/SKILL.md': '---\ndescription: Paints\n---\nUse red.',
});

it('nested instructions and skills are appended once, when the work comes there', async () => {
  const told = await tell({
    prepare: parts,
    script: {
      replies: [
        read('pkg/a.ts'),
        read('pkg/b.ts'),
        callTool('Skill', { skill: 'paint' }),
        say('ok'),
      ],
    },
    options: { settingSources: ['project'] },
    after: (engine) => {
      expect(engine.discoveredSkills).toEqual(['paint']);
    },
  });
  const [first = '', second = '', , last = ''] = bodies(told);
  expect(first).toContain('top rule');
  expect(first).not.toContain('pkg rule');
  expect(second.match(/pkg rule/g)).toHaveLength(1);
  expect(second).toContain('- paint: Paints');
  expect(last.match(/pkg rule/g)).toHaveLength(1);
  expect(last.match(/Paints/g)).toHaveLength(1);
  const offers = told.requests.map((request) => toolNames(request).includes('Skill'));
  expect(offers).toEqual([false, true, true, true]);
  expect(told.lines.some((line) => line.includes('Use red.'))).toBe(true);
});

it('a session whose host offers no tool for skills reads their files', async () => {
  const told = await tell({
    prepare: parts,
    script: { replies: [read('pkg/a.ts'), say('ok')] },
    options: { settingSources: ['project'], disallowedTools: ['Skill'] },
  });
  const [, second = ''] = bodies(told);
  expect(second).toContain('(read the file of one)');
  expect(told.requests.some((request) => toolNames(request).includes('Skill'))).toBe(false);
});

it('not where the project is not trusted, and not what a rule hides', async () => {
  const untrusted = await tell({
    prepare: parts,
    script: { replies: [read('pkg/a.ts'), say('ok')] },
    options: { settingSources: ['user'] },
  });
  expect(bodies(untrusted).join()).not.toMatch(/pkg rule|top rule|Paints/);
  const hidden = await tell({
    prepare: parts,
    script: { replies: [read('pkg/a.ts'), say('ok')] },
    options: { settingSources: ['project'], disallowedTools: ['Read(pkg/CLAUDE.md)'] },
  });
  expect(bodies(hidden).join()).not.toContain('pkg rule');
});

it('a skill is one line until it is opened, and a command for people', async () => {
  const prepare = files({
    '.claude/skills/pdf/SKILL.md': '---\ndescription: Fills forms\n---\nUse fill.py.',
  });
  const told = await tell({
    prepare,
    prompts: ['fill it', '/pdf form.pdf'],
    script: { replies: [callTool('Skill', { skill: 'pdf' }), say('one'), say('two')] },
    options: { settingSources: ['project'] },
  });
  const [first, second, third] = told.requests;
  const tools = first?.body.tools as { name: string; description: string }[];
  expect(tools.find(({ name }) => name === 'Skill')?.description).toContain('pdf: Fills forms');
  expect(JSON.stringify(first?.body)).not.toContain('fill.py');
  expect(second && toolResults(second)[0]?.text).toContain('Use fill.py.');
  expect(third && heard(third).at(-1)).toMatch(/Use fill\.py\.\n\nArguments: form\.pdf$/);
  expect(told.messages[0]).toMatchObject({
    skills: ['pdf'],
    slash_commands: expect.arrayContaining(['pdf']),
  });
});

it('commands and agents of files and plugins are there, by name', async () => {
  const told = await tell({
    prepare: files({
      '.claude/commands/fix.md': 'Fix $ARGUMENTS now',
      '.claude/agents/reader.md': '---\ndescription: Reads\n---\nYou are reader-3.',
      'plug/.claude-plugin/plugin.json': '{"name":"plug"}',
      'plug/commands/go.md': 'Go',
    }),
    prompts: ['/fix it', '/plug:go'],
    script: {
      replies: [
        { ...say('read'), when: { systemIncludes: 'reader-3' } },
        callTool('Task', { description: 'd', prompt: 'p', subagent_type: 'reader' }),
        say('one'),
        say('two'),
      ],
    },
    options: { settingSources: ['project'], plugins: [{ type: 'local', path: 'plug' }] },
  });
  const main = told.requests.filter((request) => toolNames(request).length > 0);
  expect(heard(main[0] as (typeof main)[0]).at(0)).toBe('user: Fix it now');
  expect(told.lines).toContain('result "read"');
  expect(heard(main.at(-1) as (typeof main)[0]).at(-1)).toBe('user: Go');
  expect(told.messages[0]).toMatchObject({
    agents: expect.arrayContaining(['reader', 'general-purpose']),
    slash_commands: expect.arrayContaining(['fix', 'plug:go']),
  });
});

it('files that others change are named once for each change', async () => {
  const told = await tell({
    prepare: files({ 'a.txt': 'one' }),
    script: {
      replies: [
        read('a.txt'),
        callTool('Bash', { command: 'echo two > a.txt' }),
        callTool('Bash', { command: 'echo same' }),
        callTool('Bash', { command: 'touch a.txt' }),
        say('ok'),
      ],
    },
  });
  const last = bodies(told).at(-1) ?? '';
  expect(last.match(/Changed since you saw them/g)).toHaveLength(1);
});

it('a plan that nobody looks at is shown again after ten rounds', async () => {
  const todos = [{ content: 'Paint', status: 'pending', activeForm: 'Painting' }];
  const rounds = Array.from({ length: 12 }, (_, n) => callTool('Bash', { command: `echo ${n}` }));
  const told = await tell({
    script: { replies: [callTool('TodoWrite', { todos }), ...rounds, say('ok')] },
  });
  expect((bodies(told).at(-1) ?? '').match(/unchanged for 10 rounds/g)).toHaveLength(1);
});
