/** A session with a bit of everything: what the pictures in the docs show. */
import { join } from 'node:path';
import { DEMO_BUG, DEMO_FIX, DEMO_TEST_COMMAND } from '../../src/testing/demo-project.ts';
import { demoPrompt } from '../../src/testing/demo-script.ts';
import {
  callTool,
  callTools,
  message,
  overloaded,
  type Script,
  say,
  text,
  thinking,
  tooLong,
  toolUse,
} from '../../src/testing/index.ts';
import type { Place, Setting } from './session.ts';

export const demoPrompts = [
  demoPrompt,
  'Thanks. Write down in NOTES.md what went wrong, and have a helper check it.',
];

/** Once overloaded, once cut, once objected to by a hook, once too long: each is recovered from. */
function script({ cwd }: Pick<Place, 'cwd' | 'home'>): Script {
  const source = join(cwd, 'src', 'median.js');
  const tests = join(cwd, 'test', 'median.test.js');
  return {
    name: 'a bit of everything',
    replies: [
      overloaded(),
      message([
        thinking('A failing test: read the code and its test side by side before touching either.'),
        text('I read the code and its test.'),
        toolUse('Read', { file_path: source }),
        toolUse('Read', { file_path: tests }),
      ]),
      callTool('Bash', { command: DEMO_TEST_COMMAND, description: 'Run the tests' }),
      say('The list is sorted as text, so 80 comes bef', { stopReason: 'max_tokens' }),
      message([
        text('The list is sorted as text, so 80 comes before 9. I sort by number.'),
        toolUse('Edit', { file_path: source, old_string: DEMO_BUG, new_string: DEMO_FIX }),
      ]),
      say('Fixed: `median` sorts by number now.'),
      callTool('Bash', { command: DEMO_TEST_COMMAND, description: 'Run the tests' }),
      say('All three tests pass.'),
      tooLong(),
      callTools([
        ['Write', { file_path: join(cwd, 'NOTES.md'), content: 'Sort numbers by number.\n' }],
        ['Grep', { pattern: 'sort', path: cwd }],
      ]),
      callTool('Task', {
        description: 'check the notes',
        prompt: 'Read NOTES.md and say whether it is right.',
        subagent_type: 'general-purpose',
      }),
      callTool('Read', { file_path: join(cwd, 'NOTES.md') }),
      say('The note is right.'),
      say('NOTES.md says it in a line, and the helper agrees.'),
    ],
  };
}

export const demo = (): Setting => {
  let asked = 0;
  return {
    script,
    options: {
      hooks: {
        Stop: [
          {
            hooks: [
              async () => {
                asked += 1;
                return asked === 1 ? { decision: 'block', reason: 'run the tests first' } : {};
              },
            ],
          },
        ],
      },
    },
  };
};
