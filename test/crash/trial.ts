/**
 * One trial: a session of the real CLI, killed with SIGKILL at random moments, gone on with, and
 * then looked at: is anything lost that was seen, was anything done twice, does the bill add up?
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dice } from '../../src/testing/dice.ts';
import type { ReceivedRequest } from '../../src/testing/received-request.ts';
import { message, text, toolUse } from '../../src/testing/replies.ts';
import type { Reply, Script } from '../../src/testing/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../src/testing/scripted-server.ts';
import { CliProcess, type WireMessage } from '../tools/cli.ts';

export const kinds = ['streaming', 'tool', 'ledger', 'compaction', 'result'] as const;
export type Kind = (typeof kinds)[number];

export interface TrialReport {
  readonly kind: Kind;
  /** Where the kills came, for people. */
  readonly kills: readonly string[];
  /** A summary was made. */
  readonly isCompacted: boolean;
  /** Empty: all is well. */
  readonly problems: readonly string[];
}

interface Scene {
  readonly root: string;
  readonly cwd: string;
  readonly log: string;
  readonly server: ScriptedServer;
  readonly sessionId: string;
  readonly env: NodeJS.ProcessEnv;
  readonly flags: readonly string[];
}

/** Longer than any script here on a busy machine; a process that needs more hangs. */
const PROCESS_MS = 60_000;
/** A shell of a killed process may still write its line. */
const AFTERMATH_MS = 500;

export async function runTrial(kind: Kind, dice: Dice): Promise<TrialReport> {
  const scene = await openScene(kind, dice.uuid());
  try {
    const kills: string[] = [];
    const seen: WireMessage[] = [];
    const wanted = dice.chance(0.3) ? 2 : 1;
    for (let n = 0; n < wanted; n += 1) {
      const before = start(scene, `prompt ${n}`);
      kills.push(await killAtRandom(before, dice));
      seen.push(...heardOf((await before.ended).messages));
    }
    const requestsBefore = scene.server.requestsOf('loop').length;
    const last = start(scene, 'and now the end');
    const timer = setTimeout(() => last.kill(), PROCESS_MS);
    const run = await last.ended;
    clearTimeout(timer);
    await new Promise((resolve) => setTimeout(resolve, AFTERMATH_MS));
    const requests = scene.server.requestsOf('loop').slice(requestsBefore);
    const problems = [
      ...judgeEnd(run.code, run.results, run.stderr),
      ...scene.server.violations.map(({ rule, message: said }) => `illegal: ${rule}: ${said}`),
      ...judgeSeen(scene, seen, requests),
      ...judgeTools(scene, requests),
      ...judgeBill(scene, run.results, kills.length),
    ];
    return { kind, kills, isCompacted: isCompactedIn(scene.root), problems };
  } finally {
    await scene.server.close();
    rmSync(scene.root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openScene(kind: Kind, sessionId: string): Promise<Scene> {
  const root = mkdtempSync(join(tmpdir(), 'escapement-crash-'));
  const [home, cwd] = [join(root, 'home'), join(root, 'work')];
  mkdirSync(home);
  mkdirSync(cwd);
  const log = join(root, 'log');
  const server = await startScriptedServer(scriptOf(kind, log));
  const settings = kind === 'compaction' ? { autoCompactWindow: 24_000 } : {};
  return {
    ...{ root, cwd, log, server, sessionId },
    env: {
      ...{ HOME: home, PATH: process.env.PATH, TERM: 'dumb' },
      ...{ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'a key of no value' },
      ...{ ESCAPEMENT_HOME: join(home, '.escapement'), ESCAPEMENT_RETRY_BASE_MS: '5' },
    },
    flags: [
      ...['-p', '--output-format', 'stream-json', '--model=claude-sonnet-4-5'],
      ...['--permission-mode=bypassPermissions', '--allow-dangerously-skip-permissions'],
      ...['--setting-sources=', '--settings', JSON.stringify(settings)],
    ],
  };
}

/** Goes on with what is there, or begins: a process may die before it has written a line. */
function start({ env, flags, cwd, sessionId, root }: Scene, prompt: string): CliProcess {
  const isThere = transcriptIn(root) !== undefined;
  const session = isThere ? ['--resume', sessionId] : ['--session-id', sessionId];
  const child = new CliProcess([...flags, ...session, prompt], cwd, env);
  child.read();
  child.end();
  return child;
}

/** After some line of its output, and a little later; or never, when it is faster than that. */
async function killAtRandom(child: CliProcess, dice: Dice): Promise<string> {
  const lines = dice.between(0, 12);
  const delayMs = dice.chance(0.5) ? 0 : dice.between(0, 250);
  const isFarEnough = () => child.stdout.split('\n').length > lines;
  const timer = setTimeout(() => child.kill(), PROCESS_MS);
  let hasEnded = false;
  void child.ended.then(() => {
    hasEnded = true;
  });
  // Polled, not listened to: a kill in the middle of a line is wanted, too.
  while (!hasEnded && !isFarEnough()) await new Promise((resolve) => setTimeout(resolve, 3));
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  child.kill();
  clearTimeout(timer);
  return hasEnded ? 'ended first' : `line ${lines} + ${delayMs} ms`;
}

// ── the model ──

function scriptOf(kind: Kind, log: string): Script {
  let n = 0;
  const tag = () => {
    n += 1;
    return `t${n}`;
  };
  return {
    whenExhausted: ((request: ReceivedRequest) => replyTo(kind, request, tag(), log)) as never,
    compactions: [{ kind: 'message', content: [text('a summary of it all')], headersDelayMs: 150 }],
  };
}

/** Words of the model are unique, so that each can be looked for. */
function replyTo(kind: Kind, request: ReceivedRequest, tag: string, log: string): Reply {
  const hasAnswers = JSON.stringify((request.body.messages as unknown[]).at(-1)).includes(
    '"tool_result"',
  );
  const command = (name: string, rest = '') => `echo ${name} >> ${log}${rest}; echo did-${name}`;
  switch (kind) {
    case 'streaming':
      return message(
        [0, 1, 2, 3].map((at) =>
          text(`said-${tag}-${at} ${'word '.repeat(20)}`, { pieces: 4, deltaDelayMs: 12 }),
        ),
      );
    case 'tool':
      return hasAnswers
        ? message([text(`done-${tag}`)])
        : message([
            text(`said-${tag}`),
            toolUse('Bash', { command: command(tag, '; sleep 0.2') }, { id: `toolu_${tag}` }),
          ]);
    case 'ledger':
      return hasAnswers
        ? message([text(`done-${tag}`)])
        : message(
            [1, 2, 3, 4, 5].map((at) =>
              toolUse('Bash', { command: command(`${tag}x${at}`) }, { id: `toolu_${tag}x${at}` }),
            ),
          );
    case 'compaction': // the third call of a turn does not fit any more
      return Number(tag.slice(1)) % 4 === 0
        ? message([text(`done-${tag}`)])
        : message([
            text(`said-${tag} ${'long '.repeat(3_300)}`),
            toolUse('Bash', { command: command(tag) }, { id: `toolu_${tag}` }),
          ]);
    case 'result':
      return message([text(`said-${tag}`)]);
  }
}

// ── the judges ──

/** Whole lines that a host has read. What was taken back does not count. */
function heardOf(messages: readonly (WireMessage | undefined)[]): readonly WireMessage[] {
  const heard = messages.filter((one) => one !== undefined);
  const gone = new Set(
    heard.flatMap((one) => {
      const taken = one.type === 'tombstone' ? [(one.message as { uuid: string }).uuid] : [];
      return [...taken, ...((one.supersedes as string[] | undefined) ?? [])];
    }),
  );
  return heard.filter(
    ({ type, uuid, error }) =>
      (type === 'assistant' || type === 'user') && error === undefined && !gone.has(String(uuid)),
  );
}

function judgeEnd(
  code: number | null,
  results: readonly WireMessage[],
  stderr: string,
): readonly string[] {
  const [result] = results;
  const isGood = code === 0 && results.length === 1 && result?.terminal_reason === 'completed';
  return isGood ? [] : [`the last run ended badly: ${code}, ${JSON.stringify(result)}, ${stderr}`];
}

type Line = Readonly<Record<string, unknown>>;
type Block = Readonly<Record<string, unknown>>;

function transcriptIn(root: string): string | undefined {
  const found = readdirSync(root, { recursive: true }).map(String);
  const name = found.find((one) => one.endsWith('.jsonl'));
  return name === undefined ? undefined : join(root, name);
}

function linesIn(root: string): readonly (Line | undefined)[] {
  const path = transcriptIn(root);
  const lines = path === undefined ? [] : readFileSync(path, 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    try {
      return JSON.parse(line) as Line;
    } catch {
      return undefined;
    }
  });
}

const isCompactedIn = (root: string) =>
  linesIn(root).some((line) => line?.subtype === 'compact_boundary');

const blocksOf = (body: unknown): readonly Block[] => {
  const { content } = body as { content?: unknown };
  return Array.isArray(content) ? (content as Block[]) : [{ type: 'text', text: content }];
};

/** What was shown stands in the file and, unless a summary stands for it, before the model. */
function judgeSeen(
  { root }: Scene,
  seen: readonly WireMessage[],
  requests: readonly ReceivedRequest[],
): readonly string[] {
  const lines = linesIn(root);
  const broken = lines.filter((line) => line === undefined).length;
  const uuids = new Set(lines.map((line) => line?.uuid));
  const isCompacted = isCompactedIn(root);
  const sent = JSON.stringify(requests[0]?.body.messages ?? '');
  const problems = broken > 0 ? [`${broken} line(s) of the transcript do not parse`] : [];
  for (const { uuid, message: body } of seen) {
    if (!uuids.has(uuid)) problems.push(`shown and not in the transcript: ${JSON.stringify(body)}`);
    if (isCompacted) continue;
    for (const block of blocksOf(body)) {
      const mark = String(block.text ?? block.id ?? block.tool_use_id).slice(0, 40);
      if (!sent.includes(mark)) problems.push(`shown and not before the model: ${mark}`);
    }
  }
  return problems;
}

/** Each call was made at most once, and where its result is not known the model is told so. */
function judgeTools({ log }: Scene, requests: readonly ReceivedRequest[]): readonly string[] {
  const ran = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  const problems = ran
    .filter((tag, at) => ran.indexOf(tag) !== at)
    .map((tag) => `${tag} has run twice`);
  const messages = (requests.at(-1)?.body.messages ?? []) as readonly object[];
  for (const block of messages.flatMap(blocksOf)) {
    if (block.type !== 'tool_result') continue;
    const tag = String(block.tool_use_id).replace('toolu_', '');
    const said = JSON.stringify(block.content ?? '');
    const hasRun = ran.includes(tag);
    if (block.is_error !== true) {
      if (!said.includes(`did-${tag}`)) problems.push(`${tag}: a strange result: ${said}`);
      if (!hasRun) problems.push(`${tag}: a result of what has not run`);
    } else if (hasRun && !/unknown|to its end/.test(said)) {
      problems.push(`${tag} has run, and the model is told: ${said}`);
    }
  }
  return problems;
}

const sum = (usages: readonly Line[], field: string) =>
  usages.reduce((total, usage) => total + Number(usage[field] ?? 0), 0);

/**
 * The total of the session is the sum of its calls; against the server's own bill each kill may
 * have lost the call that ran, and no more.
 */
function judgeBill(
  { root, server }: Scene,
  results: readonly WireMessage[],
  kills: number,
): readonly string[] {
  const lines = linesIn(root).filter((line) => line !== undefined);
  const noted = lines.flatMap((line) =>
    line.type === 'usage' ? [(line.message as { usage: Line }).usage] : [],
  );
  const models = Object.values((results[0]?.modelUsage ?? {}) as Record<string, Line>);
  const problems: string[] = [];
  const output = sum(noted, 'output_tokens');
  if (sum(models, 'outputTokens') !== output) {
    problems.push(`the result counts ${sum(models, 'outputTokens')} tokens, the file ${output}`);
  }
  const answered = server.log.flatMap((entry) =>
    entry.type === 'answered' && entry.complete ? [entry.usage?.output_tokens ?? 0] : [],
  );
  const billed = answered.reduce((total, tokens) => total + (tokens ?? 0), 0);
  const lostMax = kills * Math.max(0, ...answered.map((tokens) => tokens ?? 0));
  if (output < billed - lostMax) {
    problems.push(`billed ${billed}, counted ${output}: more is lost than ${kills} call(s)`);
  }
  return problems;
}
