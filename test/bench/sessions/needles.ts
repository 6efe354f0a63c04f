/**
 * A long piece of work, and what the model still knows of it in the end: with collapse, and with
 * summaries of everything. Each round reads a file in which facts stand among lines that say
 * little. One fact of each file is asked for afterwards.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configFromOptions } from '../../../src/options.ts';
import { QueryEngine } from '../../../src/query-engine.ts';
import { callTool, computed, say, startScriptedServer } from '../../../src/testing/index.ts';
import { extract } from './extract.ts';

export interface Variant {
  readonly name: string;
  readonly collapses: boolean;
  readonly smallModel?: string;
}
export const variants: readonly Variant[] = [
  { name: 'summaries of everything', collapses: false },
  { name: 'collapse, by a small model', collapses: true, smallModel: 'claude-haiku-4-5' },
  { name: 'collapse, by the main model', collapses: true },
];

export const ROUNDS = 120;
const WINDOW = 60_000;
const FACTS = 6;
const LINES = 60;

const NAMES = ['Ada', 'Ben', 'Cleo', 'Dov', 'Eve', 'Finn', 'Gus', 'Hana', 'Ivo', 'Joan', 'Kim'];
const THINGS = ['gate', 'queue', 'parser', 'ledger', 'cache', 'router', 'clock', 'index', 'store'];
const FLAWS = ['leaks', 'stalls', 'drifts', 'repeats itself', 'forgets', 'overflows', 'locks up'];
const at = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

/** A sentence that stands nowhere else. */
const factOf = (file: number, n: number): string => {
  const k = file * FACTS + n;
  const who = at(NAMES, k) + at(NAMES, Math.floor(k / NAMES.length)).toLowerCase();
  const what = `${at(THINGS, k * 5)} ${at(THINGS, Math.floor(k / THINGS.length))}`;
  return `// ${who} says that the ${what} of part ${file} ${at(FLAWS, k * 3)} above ${k * 37 + 11}.`;
};
/** The one that is asked for. */
const needleOf = (file: number): string => factOf(file, (file * 7) % FACTS);

function textOfFile(file: number): string {
  const lines = Array.from({ length: LINES }, (_, n) => `export const value${file}_${n} = ${n};`);
  for (let n = 0; n < FACTS; n += 1) lines.splice(5 + n * 9, 0, factOf(file, n));
  return lines.join('\n');
}

function place() {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'escapement-needles-')));
  const [cwd, home] = [path.join(root, 'work'), path.join(root, 'home')];
  mkdirSync(cwd);
  for (let file = 0; file < ROUNDS; file += 1)
    writeFileSync(path.join(cwd, `part-${file}.ts`), textOfFile(file));
  return { root, cwd, home };
}

/** Files that a prompt has word for word: by a line of each that no summary keeps. */
const wholeFilesIn = (messages: unknown): number =>
  new Set(JSON.stringify(messages).match(new RegExp(`value\\d+_${LINES - 1} =`, 'g'))).size;

const share = (found: readonly boolean[]) =>
  found.length === 0 ? 0 : found.filter((one) => one).length / found.length;

/** What was read in a part of the rounds, by age. */
const QUARTERS = 4;

export async function playNeedles({ collapses, smallModel }: Variant) {
  const { root, cwd, home } = place();
  let file = 0;
  const server = await startScriptedServer({
    replies: [
      computed(() => callTool('Read', { file_path: path.join(cwd, `part-${file++}.ts`) }), {
        times: ROUNDS,
      }),
      say('done'),
    ],
    collapses: [computed(extract, { times: 'always' })],
    compactions: [
      computed((request) => `<summary>${extract(request)}</summary>`, { times: 'always' }),
    ],
  });
  const config = await configFromOptions(
    {
      ...{ cwd, model: 'claude-sonnet-4-5', settingSources: [], autoCompactWindow: WINDOW },
      settings: { contextCollapse: collapses, ...(smallModel === undefined ? {} : { smallModel }) },
    },
    {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'a key of no value',
      ESCAPEMENT_HOME: home,
      PATH: process.env.PATH,
    },
  );
  const engine = new QueryEngine(config);
  let usd = 0;
  let commits = 0;
  try {
    for await (const message of engine.submitMessage('Read all parts and remember what is said.')) {
      if (message.type === 'system' && message.subtype === 'context_edit')
        commits += message.stage === 'collapse' ? 1 : 0;
      if (message.type !== 'result') continue;
      if (message.is_error) throw new Error(`the session ended as ${message.terminal_reason}`);
      usd = message.total_cost_usd ?? 0;
    }
    const prompts = server.requestsOf('loop').map(({ bytes }) => bytes / 4);
    const verbatim = server
      .requestsOf('loop')
      .map((request) => wholeFilesIn(request.body.messages));
    const last = JSON.stringify(server.requestsOf('loop').at(-1)?.body.messages ?? '');
    const kept = [...last.matchAll(/[^ "]+collapsed-[0-9a-f-]+\.txt/g)]
      .map(([file]) => readFileSync(file, 'utf8'))
      .join('\n');
    const isSeen = (n: number) => last.includes(needleOf(n));
    const rounds = Array.from({ length: ROUNDS }, (_, n) => n);
    const quarters = Array.from({ length: QUARTERS }, (_, quarter) =>
      share(
        rounds
          .slice((quarter * ROUNDS) / QUARTERS, ((quarter + 1) * ROUNDS) / QUARTERS)
          .map(isSeen),
      ),
    );
    return {
      usd,
      commits,
      summaries: server.requestsOf('compact').length,
      folds: server.requestsOf('collapse').length,
      meanPrompt: prompts.reduce((sum, tokens) => sum + tokens, 0) / prompts.length,
      verbatim: verbatim.reduce((sum, files) => sum + files, 0) / verbatim.length,
      seen: share(rounds.map(isSeen)),
      reachable: share(rounds.map((n) => isSeen(n) || kept.includes(needleOf(n)))),
      quarters,
      cache: server.cacheReport(),
    };
  } finally {
    await engine.close();
    await server.close();
    rmSync(root, { recursive: true, force: true });
  }
}
