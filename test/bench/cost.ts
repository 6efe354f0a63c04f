/**
 * What the prompts of a long turn cost, against the best that any client could pay who knows what
 * comes (`ideal` of the scripted server's accounting). The engine as it comes: real tools, default
 * prompt, no option that would help.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { engineFromOptions, type Options } from '../../src/options.ts';
import { callTools, computed, say, startScriptedServer } from '../../src/testing/index.ts';
import { playNeedles, ROUNDS, variants } from './sessions/needles.ts';

interface Session {
  readonly name: string;
  readonly rounds: number;
  /** Calls of one round. The cache looks back 20 blocks: a round of 12 has more. */
  readonly calls: number;
  readonly options?: Options;
  /** Of the ideal; without it the share is only reported. */
  readonly shareMax?: number;
}
const SHARE_MAX = 1.02;
const sessions: readonly Session[] = [
  { name: 'narrow', rounds: 150, calls: 1, shareMax: SHARE_MAX },
  { name: 'wide', rounds: 30, calls: 12, shareMax: SHARE_MAX },
  // Old reads are cleared after every fourth round here. What the request before wrote is never read
  // then, and only a client that knows the future would not have written it: no bound.
  { name: 'very wide', rounds: 12, calls: 32 },
  {
    name: 'narrow, with summaries',
    rounds: 150,
    calls: 1,
    options: { autoCompactWindow: 24_000 },
    shareMax: SHARE_MAX,
  },
  {
    name: 'wide, with summaries',
    rounds: 30,
    calls: 12,
    options: { autoCompactWindow: 60_000 },
    shareMax: SHARE_MAX,
  },
];
const FILES = 400;
const LINES = 30;

function place() {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'escapement-bench-')));
  const folders = { root, cwd: path.join(root, 'work'), home: path.join(root, 'home') };
  mkdirSync(folders.cwd);
  for (let at = 0; at < FILES; at += 1) {
    const lines = Array.from({ length: LINES }, (_, n) => `export const value${at}_${n} = ${n};`);
    writeFileSync(path.join(folders.cwd, `file-${at}.ts`), lines.join('\n'));
  }
  return folders;
}

async function play({ rounds, calls, options }: Session) {
  const { root, cwd, home } = place();
  let file = 0;
  const next = (): [string, Record<string, unknown>] => [
    'Read',
    { file_path: path.join(cwd, `file-${file++ % FILES}.ts`) },
  ];
  const server = await startScriptedServer({
    replies: [
      computed(() => callTools(Array.from({ length: calls }, next)), { times: rounds }),
      say('done'),
    ],
  });
  const engine = await engineFromOptions(
    { cwd, settingSources: [], model: 'claude-sonnet-4-5', ...options },
    {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: home,
      PATH: process.env.PATH,
    },
  );
  let reason = '';
  try {
    for await (const message of engine.submitMessage('Read all of it.'))
      if (message.type === 'result') reason = message.terminal_reason;
    if (reason !== 'completed') throw new Error(`the session ended as ${reason}`);
    return { ...server.cacheReport(), summaries: server.requestsOf('compact').length };
  } finally {
    await engine.close();
    await server.close();
    rmSync(root, { recursive: true, force: true });
  }
}

const cell = (value: string | number, width: number) => String(value).padStart(width);
console.log(
  `${'session'.padEnd(24)}${cell('requests', 9)}${cell('summaries', 10)}${cell('cost', 12)}` +
    `${cell('ideal', 12)}${cell('share', 8)}   (cost: uncached input tokens)`,
);
for (const session of sessions) {
  const { requests, summaries, cost, ideal } = await play(session);
  const share = cost / ideal;
  const isAbove = session.shareMax !== undefined && share > session.shareMax;
  console.log(
    `${session.name.padEnd(24)}${cell(requests, 9)}${cell(summaries, 10)}` +
      `${cell(Math.round(cost), 12)}${cell(Math.round(ideal), 12)}${cell(share.toFixed(4), 8)}` +
      `${isAbove ? `   above ${session.shareMax}` : ''}`,
  );
  if (isAbove) process.exitCode = 1;
}

const percent = (part: number) => `${Math.round(part * 100)} %`;
console.log(
  `\n${`${ROUNDS} rounds, one fact of each asked for`.padEnd(36)}${cell('summaries', 10)}${cell('collapses', 10)}` +
    `${cell('commits', 8)}${cell('prompt', 8)}${cell('share', 8)}${cell('dollars', 9)}${cell('whole', 7)}${cell('seen', 7)}` +
    `${cell('or in a file', 13)}   seen by age, oldest first`,
);
for (const variant of variants) {
  const { summaries, folds, commits, meanPrompt, usd, verbatim, seen, reachable, quarters, cache } =
    await playNeedles(variant);
  const share = cache.cost / cache.ideal;
  if (share > SHARE_MAX) process.exitCode = 1;
  console.log(
    `${variant.name.padEnd(36)}${cell(summaries, 10)}${cell(folds, 10)}${cell(commits, 8)}` +
      `${cell(Math.round(meanPrompt), 8)}${cell(share.toFixed(4), 8)}${cell(usd.toFixed(3), 9)}${cell(verbatim.toFixed(1), 7)}${cell(percent(seen), 7)}` +
      `${cell(percent(reachable), 13)}   ${quarters.map(percent).join('  ')}` +
      `${share > SHARE_MAX ? `   above ${SHARE_MAX}` : ''}`,
  );
}
