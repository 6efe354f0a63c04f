/** What a long session holds in memory: what was summed up is in its file, and not for ever here. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { closeSession } from '../../../src/close-session.ts';
import { EngineState } from '../../../src/engine-state.ts';
import { configFromOptions } from '../../../src/options.ts';
import { submit } from '../../../src/submit.ts';
import { createScriptedServer, say } from '../../../src/testing/index.ts';
import type { SDKMessage } from '../../../src/wire.ts';

const ROUNDS = 8;
/** Of one round: prompt and answer, twice. */
const MESSAGES_A_ROUND = 4;

it('eight summaries: it holds what the last two were about, and knows all prompts', async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'escapement-memory-')));
  const cwd = join(root, 'work');
  mkdirSync(cwd);
  const server = createScriptedServer({
    replies: Array.from({ length: ROUNDS * 2 + 1 }, (_, n) => say(`answer ${n}`)),
    compactions: Array.from({ length: ROUNDS }, () => say('<summary>what was said</summary>')),
  });
  const config = await configFromOptions(
    { cwd, settingSources: [], model: 'claude-sonnet-4-5' },
    {
      ANTHROPIC_BASE_URL: await server.listen(),
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: join(root, 'home'),
      HOME: join(root, 'home'),
      PATH: process.env.PATH,
    },
  );
  const engine = new EngineState(config);
  const ask = async (prompt: string, uuid?: string): Promise<readonly SDKMessage[]> => {
    const said: SDKMessage[] = [];
    const named = uuid === undefined ? {} : { uuid };
    for await (const message of submit(engine, prompt, named)) said.push(message);
    return said;
  };
  const sizes: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await ask(`remember ${round} ${'x'.repeat(30_000)}`, `prompt-${round}`);
      await ask(`and this ${round}`);
      const said = await ask('/compact');
      expect(said.some((one) => one.type === 'system' && one.subtype === 'compact_boundary')).toBe(
        true,
      );
      sizes.push(engine.session.log.size);
    }
    expect(Math.max(...sizes)).toBeLessThan(MESSAGES_A_ROUND * 5);
    expect(sizes.at(-1)).toBeLessThanOrEqual(sizes[3] ?? 0);
    // Sent again by a host that has lost its connection: not asked again, however old it is.
    const asked = server.requestsOf('loop').length;
    const again = await ask('remember 0', 'prompt-0');
    expect(JSON.stringify(again)).toContain('is in the session already');
    expect(server.requestsOf('loop')).toHaveLength(asked);
    const [last] = (await ask('what stands?')).filter(({ type }) => type === 'result');
    expect(last).toMatchObject({ terminal_reason: 'completed' });
    expect(server.violations).toEqual([]);
  } finally {
    await closeSession(engine);
    await server.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
});
