/** What must hold of every walk, whatever happens in it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isRecord } from '../../services/is-record.ts';
import type { LogMessage } from '../../services/messages.ts';
import { brokenInvariants, type InvariantName } from '../../src/testing/invariants.ts';
import { blocksOf } from '../../src/testing/received-request.ts';
import { recordedQueries, replayQuery } from '../../src/testing/replay.ts';
import { say } from '../../src/testing/replies.ts';
import type { SDKMessage, SDKResultMessage } from '../../src/wire.ts';
import { type OpenLife, openLife, type Scene, transcriptOf } from './scene.ts';
import { within } from './within.ts';

export interface Problem {
  /** The same name: the same way of failing, as far as cutting a walk down goes. */
  readonly name: string;
  readonly detail: string;
}

/** What a host has heard of one process. */
export interface Heard {
  readonly life: OpenLife;
  readonly messages: SDKMessage[];
  /** Uuids of what it submitted, and of what it said beside a turn. */
  readonly prompts: string[];
  readonly enqueued: string[];
  readonly cancelled: string[];
  /** Taken by no turn. */
  waiting: readonly string[];
  history: readonly LogMessage[];
  readonly agreed: readonly string[];
  /** The host left in the middle of a turn. */
  wasLeft: boolean;
  /** The host ended a turn: what was on the wire then may be lost. */
  wasStopped: boolean;
  /** The engine gave a request up: what the server told it last may not have been read. */
  hasHungUp: boolean;
}

const resultsIn = (messages: readonly SDKMessage[]): readonly SDKResultMessage[] =>
  messages.filter((message) => message.type === 'result');

/** The kit's invariants, as far as this process lived to keep them. */
export function judgeLife(heard: Heard): readonly Problem[] {
  const { life, messages, history, agreed, prompts } = heard;
  const results = resultsIn(messages);
  const facts = {
    ...{ messages, results, history, agreed, prompts },
    // Warnings are of the whole process, in which walks run beside each other: its worker hears them.
    ...{ server: life.server, warnings: [] },
  };
  const except = new Set<InvariantName>(exceptionsOf(heard));
  const problems: Problem[] = brokenInvariants(facts).filter(({ name }) => !except.has(name));
  const told = life.server.billed({ includingBroken: true });
  const counted = results.reduce((sum, { usage }) => sum + usage.output_tokens, 0);
  if (counted > told.output_tokens) {
    const detail = `${counted} output tokens counted, ${told.output_tokens} told`;
    problems.push({ name: 'overbilled', detail });
  }
  return problems;
}

function exceptionsOf(heard: Heard): readonly InvariantName[] {
  const { life, wasLeft } = heard;
  return [
    'results', // over all processes together: judgeNames
    ...(life.isDead ? (['view', 'stands', 'deltas', 'answered'] as const) : []),
    // Nobody heard how the turn ended that was left.
    ...(wasLeft ? (['view', 'stands', 'deltas', 'meter'] as const) : []),
    ...(life.isResumed || life.isDead ? (['meter', 'stands', 'answered'] as const) : []),
    // Answers to calls that were left open are known by what stands, unless that was rewritten.
    ...(isRewritten(heard) ? (['view'] as const) : []),
    ...(mayLoseUsage(heard) ? (['usage'] as const) : []),
    // A background task that ends between two turns is in the meter of neither.
    ...(asksForBackground(heard) ? (['meter', 'usage'] as const) : []),
  ];
}

const isRewritten = ({ messages }: Heard): boolean =>
  messages.some((m) => m.type === 'system' && /compact_boundary|context_edit/.test(m.subtype)) &&
  messages.some((m) => m.type === 'result' && m.terminal_reason === 'tool_deferred');

/** What the server said last may not have arrived: a cut overtakes it, a deadline hangs up. */
function mayLoseUsage({ life, wasLeft, wasStopped, hasHungUp }: Heard): boolean {
  if (wasLeft || wasStopped || hasHungUp || life.isDead) return true;
  return life.server.log.some(
    (entry) => entry.type === 'fault' && entry.fault.kind !== 'end' && entry.fault.kind !== 'error',
  );
}

/** The model has asked for a command that runs beside the turns. */
const asksForBackground = ({ messages }: Heard): boolean =>
  messages.some(
    (message) =>
      message.type === 'assistant' &&
      message.message.content.some(
        (block) =>
          block.type === 'tool_use' && isRecord(block.input) && block.input.run_in_background,
      ),
  );

type Line = Readonly<Record<string, unknown>>;

/**
 * After all processes: the file, the prompts, the effects, and a session that goes on.
 * @param turnMs a turn that takes longer hangs.
 */
export async function judgeEnd(
  scene: Scene,
  heard: readonly Heard[],
  turnMs: number,
): Promise<readonly Problem[]> {
  const last = heard.at(-1);
  if (!last) return [];
  const { home } = last.life;
  const path = transcriptOf(home, scene.sessionId);
  const read = () => (path === undefined ? '' : readFileSync(path, 'utf8'));
  const text = read();
  const lines = linesOf(text);
  const parsed = lines.map(parsedLine);
  const problems: Problem[] = [];
  const broken = parsed.indexOf(undefined);
  if (broken >= 0) {
    problems.push({
      name: 'transcript',
      detail: `line ${broken}: ${lines[broken]?.slice(0, 200)}`,
    });
  }
  // A process may be killed between the end of its chart and the result.
  const wasKilled = heard.some(({ life }) => life.isDead);
  if (!wasKilled) problems.push(...judgeReplay(text, parsed));
  problems.push(...judgeEffects(scene), ...judgeProcesses(scene));
  if (path !== undefined) problems.push(...(await judgeGoingOn(scene, home, turnMs)));
  // Afterwards: what was said to a process that was closed is answered by the first turn behind it.
  return [...problems, ...judgeNames(heard, linesOf(read()).map(parsedLine))];
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

function parsedLine(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/** Each prompt is named by exactly one result: one that was heard, or that stands in the file. */
function judgeNames(
  heard: readonly Heard[],
  lines: readonly (Line | undefined)[],
): readonly Problem[] {
  const results = new Map<string, readonly string[]>();
  for (const { messages } of heard) {
    for (const { uuid, user_message_uuids: named } of resultsIn(messages)) results.set(uuid, named);
  }
  for (const line of lines) {
    if (line?.type !== 'result') continue;
    const said = (line.message ?? line) as Partial<SDKResultMessage>;
    if (said.user_message_uuids)
      results.set(String(said.uuid ?? line.uuid), said.user_message_uuids);
  }
  const named = [...results.values()].flat();
  const problems: Problem[] = [];
  const twice = named.find((uuid, at) => named.indexOf(uuid) !== at);
  if (twice !== undefined) problems.push({ name: 'named twice', detail: twice });
  const lost = new Set(heard.filter(({ life }) => life.isDead).flatMap((one) => one.prompts));
  for (const one of heard) {
    const open = new Set([...one.waiting, ...one.cancelled]);
    for (const uuid of one.prompts) {
      if (named.includes(uuid) || lost.has(uuid)) continue;
      problems.push({ name: 'unnamed', detail: `no result names the prompt ${uuid}` });
    }
    if (one.life.isDead) continue;
    for (const uuid of one.enqueued) {
      if (named.includes(uuid) || open.has(uuid)) continue;
      problems.push({ name: 'unnamed beside', detail: `no result names what was said, ${uuid}` });
    }
  }
  return problems;
}

/** The chart alone, fed with the events of the file, takes each turn to the end that it had. */
function judgeReplay(text: string, lines: readonly (Line | undefined)[]): readonly Problem[] {
  const reasons = lines.flatMap((line) =>
    line?.type === 'result' ? [String(line.terminal_reason)] : [],
  );
  const replayed = recordedQueries(text)
    .filter(({ input }) => (input.querySource ?? 'main') === 'main' && input.agentId === undefined)
    .map((query) => replayQuery(query).reason)
    .filter((reason) => reason !== undefined);
  // A turn that was answered without a query has no record; each record has its result, in order.
  let at = 0;
  for (const reason of replayed) {
    const found = reasons.indexOf(reason, at);
    if (found < 0) {
      const detail = `replayed ${replayed.join(', ')}; the results were ${reasons.join(', ')}`;
      return [{ name: 'replay', detail }];
    }
    at = found + 1;
  }
  return [];
}

/** No side effect is made twice. */
function judgeEffects({ effects }: Scene): readonly Problem[] {
  const keys = effects.map(({ key }) => key);
  return keys
    .filter((key, at) => keys.indexOf(key) !== at)
    .map((key) => ({ name: 'effect twice', detail: key }));
}

const PS_MS = 10_000;

/** Only of a walk that starts any: to ask is dear. */
function judgeProcesses({ walk, nap }: Scene): readonly Problem[] {
  const startsAny =
    walk.hooks.some(({ isCommand }) => isCommand) || JSON.stringify(walk).includes(nap);
  if (!startsAny) return [];
  const args = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8', timeout: PS_MS });
  const alive = args.split('\n').filter((line) => line.includes(`sleep ${nap}`));
  return alive.length === 0 ? [] : [{ name: 'process left', detail: alive.join('; ') }];
}

async function resultsOfTurn({ engine }: OpenLife): Promise<readonly SDKResultMessage[]> {
  const results: SDKResultMessage[] = [];
  for await (const message of engine.submitMessage('and now?')) {
    if (message.type === 'result') results.push(message);
  }
  return results;
}

/** The session is taken up by another process, and nothing of what it went through shows. */
async function judgeGoingOn(
  scene: Scene,
  home: string,
  turnMs: number,
): Promise<readonly Problem[]> {
  const ran = new Set(scene.effects.map(({ toolUseId }) => toolUseId));
  let life: OpenLife;
  try {
    life = await openLife(scene, home, { replies: [say('It goes on.')], isPlain: true });
  } catch (error) {
    return [{ name: 'not resumable', detail: String(error) }];
  }
  const results = await within(resultsOfTurn(life), turnMs);
  const closed = await within(life.engine.close(), turnMs);
  await within(life.server.close(), turnMs);
  if (results === 'late' || closed === 'late') {
    const what = results === 'late' ? 'the turn' : 'close()';
    return [{ name: 'hang', detail: `going on: ${what} is not over after ${turnMs} ms` }];
  }
  const problems: Problem[] = [];
  const [first] = life.server.violations;
  if (first) problems.push({ name: `illegal later ${first.rule}`, detail: first.message });
  const [result] = results;
  // A host that lets results of any size into the history may fill the window with a single round.
  const isTooFull =
    result?.terminal_reason === 'blocking_limit' &&
    scene.walk.settings.gates?.toolResultBudget === false;
  if (results.length !== 1 || (result?.terminal_reason !== 'completed' && !isTooFull)) {
    const detail = `${result?.terminal_reason}: ${result?.errors.join('; ')}`;
    problems.push({ name: 'does not go on', detail });
  }
  const sent = life.server.requestsOf('loop').at(-1)?.body.messages;
  return [...problems, ...judgeAnswers((sent ?? []) as readonly object[], ran)];
}

/** What the model is told of calls is what they did. */
function judgeAnswers(messages: readonly object[], ran: ReadonlySet<string>): readonly Problem[] {
  const problems: Problem[] = [];
  for (const message of messages) {
    for (const block of blocksOf((message as { content?: unknown }).content)) {
      if (block.type !== 'tool_result') continue;
      const id = String(block.tool_use_id);
      const said = JSON.stringify(block.content ?? '');
      if (ran.has(id) && /(was not|not) run[:.,]/.test(said)) {
        problems.push({ name: 'lie', detail: `${id} has run, the model reads ${said}` });
      }
    }
  }
  return problems;
}
