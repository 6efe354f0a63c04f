/** Agents that are stopped in the middle of each other, and many that are left alone. */
import { expect, it } from 'vitest';
import {
  callTool,
  callTools,
  type MessageReply,
  type Step,
  say,
  systemText,
} from '../../../src/testing/index.ts';
import { tell } from '../../tools/story.ts';

const agents = {
  outer: { description: 'asks another', prompt: 'You are outer-1.' },
  inner: { description: 'does small jobs', prompt: 'You are inner-1.' },
};
const taskOf = (subagent_type: string, more: object = {}) =>
  callTool('Task', { description: subagent_type, prompt: 'do it', subagent_type, ...more });
const of = (marker: string, step: Step): Step => ({
  ...(step as MessageReply),
  when: { systemIncludes: marker },
});

it('an agent that is stopped while its own agent works: both end, and the caller goes on', async () => {
  const started: string[] = [];
  const told = await tell({
    script: {
      replies: [
        of('inner-1', callTool('Bash', { command: 'sleep 300' })),
        of('outer-1', taskOf('inner')),
        taskOf('outer'),
        say('went on'),
      ],
    },
    options: { agents },
    during: (message, engine) => {
      if (message.type === 'system' && message.subtype === 'task_started') {
        started.push(message.task_id);
      }
      const isInner = message.type === 'assistant' && message.parent_tool_use_id === started[1];
      if (isInner && started[0] !== undefined) engine.stopTask(started[0]);
    },
  });
  const ends = told.lines.filter((line) => line.startsWith('task_notification'));
  expect(ends.at(-1)).toBe('task_notification outer: stopped');
  expect(ends.filter((line) => line.includes('inner'))).toHaveLength(1);
  expect(told.last).toMatchObject({ terminal_reason: 'completed', result: 'went on' });
  const ofAgents = told.requests.filter((request) => /(inner|outer)-1/.test(systemText(request)));
  expect(ofAgents).toHaveLength(2);
});

it('an interrupt beside eight in the background: the turn ends, they go on, and end with the session', async () => {
  const background = (n: number) =>
    [
      'Task',
      { description: `job ${n}`, prompt: 'do it', subagent_type: 'inner', run_in_background: true },
    ] as const;
  const jobs = Array.from({ length: 8 }, (_, n) => background(n));
  const told = await tell({
    script: {
      replies: [
        ...jobs.map(() => of('inner-1', callTool('Bash', { command: 'sleep 300; touch off' }))),
        callTools(jobs),
        callTool('Bash', { command: 'sleep 300' }),
        say('the next turn works'),
      ],
    },
    prompts: ['begin', 'and now?'],
    options: { agents },
    except: ['usage', 'script'],
    during: (message, engine) => {
      const isOwn = message.type === 'assistant' && !message.parent_tool_use_id;
      if (isOwn && JSON.stringify(message).includes('"sleep 300"')) engine.interrupt();
    },
  });
  expect(told.lines.filter((line) => line.startsWith('task_started'))).toHaveLength(8);
  const [first, second] = told.results;
  expect(first).toMatchObject({ terminal_reason: 'aborted_tools' });
  expect(second).toMatchObject({ terminal_reason: 'completed', result: 'the next turn works' });
  expect(told.lines.filter((line) => line.includes('task_notification'))).toEqual([]);
}, 30_000);
