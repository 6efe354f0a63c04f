/**
 * A host that leaves before the query has begun: the prompt stands in the file, so it has its one
 * result there, and what was begun for the turn is ended with it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { callTool, say, silent } from '../../../src/testing/index.ts';
import { hostTool } from '../../tools/host-tool.ts';
import { type Place, tell } from '../../tools/story.ts';

const resultsIn = ({ home }: Pick<Place, 'home'>): readonly Record<string, unknown>[] => {
  const names = readdirSync(home, { recursive: true }).map(String);
  const file = names.find((name) => name.endsWith('.jsonl')) ?? '';
  const lines = readFileSync(join(home, file), 'utf8').trimEnd().split('\n');
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ type }) => type === 'result');
};

it('at its first message: a result names the prompt, and the next turn is its own', async () => {
  await tell({
    script: { replies: [say('And now?')] },
    prompts: ['say something else'],
    begin: async (engine) => {
      for await (const said of engine.submitMessage('do it', { uuid: 'left-early' })) {
        expect(said).toMatchObject({ type: 'system', subtype: 'init' });
        break;
      }
    },
    after: (_, place) => {
      expect(resultsIn(place)).toMatchObject([
        { terminal_reason: 'aborted_streaming', user_message_uuids: ['left-early'] },
        { terminal_reason: 'completed', user_message_uuids: [expect.any(String)] },
      ]);
    },
  });
});

it('while deferred calls are run: what has run is told, and is not run again', async () => {
  const ran: string[] = [];
  let asked = 0;
  const defer = async () => {
    asked += 1;
    const permissionDecision = asked === 1 ? 'defer' : 'allow';
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision } };
  };
  await tell({
    script: { replies: [callTool('Send', { to: 'a' }), say('And now?')] },
    prompts: ['say something else'],
    options: { hooks: { PreToolUse: [{ hooks: [defer] }] } },
    config: () => ({
      tools: [
        hostTool(
          'Send',
          async (_, { toolUseId }) => {
            ran.push(toolUseId);
            return 'sent';
          },
          { isReadOnly: () => false, isConcurrencySafe: () => false },
        ),
      ],
    }),
    begin: async (engine) => {
      const heard: string[] = [];
      for await (const said of engine.submitMessage('do it')) {
        if (said.type === 'result') heard.push(said.terminal_reason);
      }
      expect(heard).toEqual(['tool_deferred']);
      for await (const said of engine.submitMessage('go on')) if (said.type === 'user') break;
    },
    except: ['view', 'stands', 'usage', 'meter'],
    check: ({ requests }) => {
      expect(ran).toHaveLength(1);
      expect(JSON.stringify(requests.at(-1)?.body.messages)).toContain('sent');
    },
  });
});

it('the session is closed in the middle of a turn: its result is in the file', async () => {
  let closing: Promise<void> | undefined;
  const told = await tell({
    script: { replies: [silent()] },
    during: (said, engine) => {
      if (said.type === 'system' && said.subtype === 'status') closing ??= engine.close();
    },
    check: async (all) => {
      await closing;
      expect(resultsIn(all)).toMatchObject([{ terminal_reason: 'aborted_streaming' }]);
    },
  });
  expect(told.last.terminal_reason).toBe('aborted_streaming');
});

it('… also when its host does not read on: then the next process knows that it was cut off', async () => {
  await tell({
    script: { replies: [silent()] },
    during: async (said, engine) => {
      if (said.type === 'system' && said.subtype === 'status') await engine.close();
    },
    check: (all) => expect(resultsIn(all)).toEqual([]),
  });
});
