/**
 * What the "model" of the demo says: it finds and fixes the failing test of `demo-project.ts` with
 * real tools. Nobody thinks here, and the script says so.
 */
import { join } from 'node:path';
import { DEMO_BUG, DEMO_FIX, DEMO_TEST_COMMAND } from './demo-project.ts';
import type { ReceivedRequest } from './received-request.ts';
import { toolResults } from './received-request.ts';
import { computed, message, overloaded, say, text, thinking, toolUse } from './replies.ts';
import type { MessageReply, Script, ScriptedBlock } from './script.ts';

/** The task, as a person would give it. */
export const demoPrompt = 'A test of this project fails. Find out why and fix it.';

/** Small enough that people see it stream, large enough that the whole demo takes seconds. */
const PIECE_CHARS = 8;
const PIECE_DELAY_MS = 18;

/** A block that streams at about the speed of a model. */
function typed<T extends ScriptedBlock>(block: T): T {
  const words = JSON.stringify('text' in block ? block.text : block).length;
  const pieces = Math.max(1, Math.ceil(words / PIECE_CHARS));
  return { ...block, pieces, deltaDelayMs: PIECE_DELAY_MS };
}

const says = (words: string) => typed(text(words));
const thinks = (words: string) => typed(thinking(words));
const calls = (name: string, input: Readonly<Record<string, unknown>>) =>
  typed(toolUse(name, input));

/** Node's reporters name the count of failures in one of these ways. */
const NO_FAILURE = /^\W*fail 0$/m;

/** The last word depends on what the test run really printed. */
function verdict(request: ReceivedRequest): MessageReply {
  const output = toolResults(request)
    .map((result) => result.text)
    .join('\n');
  if (!NO_FAILURE.test(output)) {
    return message([
      says(
        'The test run does not look as this script expects, so I do not claim that it is fixed. ' +
          '(I am a script: I can only follow the one path that was written down for me.)',
      ),
    ]);
  }
  return message([
    says(
      'Fixed. `median` sorted with the default order of JavaScript, which compares numbers as ' +
        'text: 10 and 80 both come before 9. With a numeric comparison all tests pass.\n\n' +
        'Reminder: this "model" is a script that plays an API server on your own machine. The ' +
        'engine, the retry you saw, the tools, the edit and the test run were real. Set ' +
        'ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL to let a real model drive.',
    ),
  ]);
}

/**
 * The script of the demo. `folder` is the scratch project, absolute.
 * One overload on the way; two calls in one answer; then an edit and the test run.
 */
export function demoScript(folder: string): Script {
  const source = join(folder, 'src', 'median.js');
  const tests = join(folder, 'test', 'median.test.js');
  return {
    name: 'demo',
    replies: [
      overloaded({ headers: { 'x-scripted': 'one failure on purpose' } }),
      message([
        thinks('A failing test: read the code and its test side by side before touching either.'),
        says(
          'I am a scripted model: these words were written beforehand, everything else is real. ' +
            'Let me read the code and its test.',
        ),
        calls('Read', { file_path: source }),
        calls('Read', { file_path: tests }),
      ]),
      message([
        thinks('sort() without a comparison sorts numbers as text: 10, 80, 9. That is the bug.'),
        says('The list is sorted as text, so 80 comes before 9. I will sort by number.'),
        calls('Edit', { file_path: source, old_string: DEMO_BUG, new_string: DEMO_FIX }),
      ]),
      message([
        says('Now the tests.'),
        calls('Bash', { command: DEMO_TEST_COMMAND, description: 'Run the tests' }),
      ]),
      computed(verdict),
    ],
    whenExhausted: {
      ...say(
        'This demo ends here: the model is a script with one task. Set ANTHROPIC_API_KEY or ' +
          'ANTHROPIC_BASE_URL to go on with a real model.',
      ),
      times: 'always',
    },
  };
}
