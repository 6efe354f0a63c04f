/**
 * `docs/seed-map.md`: each part of the original description of the engine, the place in our code,
 * and the test that shows it. A row whose test does not exist is an error.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { continueReasons, terminalReasons } from '../../machines/reasons.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A file of tests, and the beginning of the title of one of them. */
type Shown = readonly [file: string, title: string];

const fields = 'test/src/engine/config-fields.test.ts';
const prompts = 'test/src/engine/prompts.test.ts';
const task = 'test/src/subagents/task.test.ts';
const memory = 'test/services/memory/in-a-session.test.ts';
const orphaned: Shown = [
  'test/src/resume/crash-points.test.ts',
  'the orphaned question is answered',
];

/** Fields of `QueryEngineConfig` in the order of the description. */
export const configFields: Readonly<Record<string, Shown>> = {
  cwd: [fields, 'cwd: a value'],
  tools: [fields, 'tools, mcpClients'],
  commands: [fields, 'commands: local ones'],
  mcpClients: [fields, 'tools, mcpClients'],
  agents: [task, 'is a conversation of its own'],
  canUseTool: [fields, 'canUseTool: asked when'],
  getAppState: [fields, 'getAppState, setAppState'],
  setAppState: [fields, 'getAppState, setAppState'],
  initialMessages: [fields, 'initialMessages: the conversation'],
  readFileCache: [fields, 'readFileCache: an unchanged'],
  customSystemPrompt: [fields, 'customSystemPrompt, appendSystemPrompt'],
  appendSystemPrompt: [fields, 'customSystemPrompt, appendSystemPrompt'],
  userSpecifiedModel: [fields, 'userSpecifiedModel, fallbackModel, thinkingConfig'],
  fallbackModel: [fields, 'userSpecifiedModel, fallbackModel, thinkingConfig'],
  thinkingConfig: [fields, 'userSpecifiedModel, fallbackModel, thinkingConfig'],
  maxTurns: [fields, 'maxTurns, maxBudgetUsd'],
  maxBudgetUsd: [fields, 'maxTurns, maxBudgetUsd'],
  taskBudget: [fields, 'taskBudget: told'],
  jsonSchema: [fields, 'jsonSchema: the answer'],
  verbose: [fields, 'verbose: what each request'],
  replayUserMessages: [fields, 'replayUserMessages, includePartialMessages'],
  handleElicitation: ['test/services/mcp/elicitation.test.ts', 'handleElicitation: asked by'],
  includePartialMessages: [fields, 'replayUserMessages, includePartialMessages'],
  setSDKStatus: [fields, 'setSDKStatus: what'],
  abortController: ['test/src/engine/abort.test.ts', 'a host that aborts its own controller'],
  orphanedPermission: orphaned,
  snipReplay: [fields, 'snipReplay: asked about'],
};

/** The state of the engine: what the description names, what ours is called in `EngineState`. */
export const stateFields: Readonly<Record<string, readonly [ours: string, ...shown: Shown]>> = {
  config: ['config', fields, 'cwd: a value'],
  mutableMessages: ['history', fields, 'initialMessages: the conversation'],
  abortController: [
    'abortController',
    'test/src/engine/abort.test.ts',
    'a host that aborts its own',
  ],
  permissionDenials: ['permissionDenials', fields, 'getAppState, setAppState'],
  totalUsage: ['totalUsage', task, 'stands in the file on a side'],
  hasHandledOrphanedPermission: ['hasHandledOrphanedPermission', ...orphaned],
  readFileState: ['readFileState', fields, 'readFileCache: an unchanged'],
  discoveredSkillNames: ['discoveredSkillNames', memory, 'nested instructions and skills'],
  loadedNestedMemoryPaths: ['loadedNestedMemoryPaths', memory, 'nested instructions and skills'],
};

/** The steps from a prompt to its result, in this order, as functions of a turn. */
export const steps: Readonly<Record<string, Shown>> = {
  beginTurn: [fields, 'cwd: a value'],
  wrapCanUseTool: ['test/src/engine/config-fields.test.ts', 'canUseTool: asked when'],
  resolveModel: [fields, 'userSpecifiedModel, fallbackModel, thinkingConfig'],
  buildSystemPrompt: [prompts, 'the system prompt is ours'],
  registerStructuredOutput: [fields, 'jsonSchema: the answer'],
  handleOrphanedPermission: orphaned,
  processUserInput: [prompts, 'files that a prompt mentions'],
  persistUserMessages: [
    'test/src/resume/crash-points.test.ts',
    'before the first word: the prompt was on the disk',
  ],
  loadSkills: [memory, 'a skill is one line'],
  initMessage: [prompts, 'the first word to the host'],
  answerWithoutQuery: [fields, 'commands: local ones'],
  enterQuery: ['test/reasons/next_turn.test.ts', ''],
  concludeTurn: ['test/reasons/completed.test.ts', ''],
};

/** Each reason has a story of its own. */
export const reasons: Readonly<Record<string, Shown>> = Object.fromEntries(
  [...Object.keys(continueReasons), ...Object.keys(terminalReasons)].map((reason) => [
    reason,
    [`test/reasons/${reason}.test.ts`, ''] as const,
  ]),
);

const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

/** Names of the first half of `QueryEngineConfig`, in the order of the file. */
export function declaredFields(): readonly string[] {
  const source = read('src/config.ts');
  const begin = source.indexOf('export interface QueryEngineConfig {');
  const half = source.slice(begin, source.indexOf('── beside the seed ──', begin));
  return [...half.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = '']) => name);
}

/** Names of the first part of `EngineState`, in the order of the file. */
export function declaredState(): readonly string[] {
  const source = read('src/engine-state.ts');
  const begin = source.indexOf('export class EngineState {');
  const part = source.slice(begin, source.indexOf('── beside the seed ──', begin));
  return [...part.matchAll(/^ {2}(?:readonly )?(\w+)(?::| =)/gm)].map(([, name = '']) => name);
}

/** Functions that are steps, in the order in which a turn calls them. */
export function calledSteps(): readonly string[] {
  const source = read('src/submit.ts');
  const begin = source.indexOf('function submit(');
  const body = source.slice(begin, source.indexOf('── the thirteen steps', begin));
  const called = [...body.matchAll(/\b(\w+)\(/g)].map(([, name = '']) => name);
  const inOrder = called.filter((name, at) => name in steps && called.indexOf(name) === at);
  // A turn that fails before it begins also ends with a result, which stands there first.
  return [...inOrder.filter((name) => name !== 'concludeTurn'), 'concludeTurn'];
}

/** What is wrong with the map: nothing, or a test would fail. */
export function seedMapProblems(): readonly string[] {
  const problems: string[] = [];
  const compare = (what: string, ours: readonly string[], named: readonly string[]) => {
    if (ours.join() !== named.join()) problems.push(`${what}: ${ours} is not ${named}`);
  };
  compare('fields', declaredFields(), Object.keys(configFields));
  compare('steps', calledSteps(), Object.keys(steps));
  compare(
    'state',
    declaredState(),
    Object.values(stateFields).map(([ours]) => ours),
  );
  for (const [file, title] of allShown()) {
    if (!existsSync(`${root}${file}`)) problems.push(`${file} does not exist`);
    else if (!titlesOf(file).some((one) => one.startsWith(title))) {
      problems.push(`${file} has no test "${title}"`);
    }
  }
  return problems;
}

const allShown = (): readonly Shown[] => [
  ...Object.values(configFields),
  ...Object.values(stateFields).map(([, file, title]) => [file, title] as const),
  ...Object.values(steps),
  ...Object.values(reasons),
];

const titlesOf = (file: string): readonly string[] =>
  [...read(file).matchAll(/\bit(?:\.each\([\s\S]*?\))?\(\s*(['"`])([\s\S]*?)\1/g)].map(
    ([, , title = '']) => title,
  );

/** The document. @throws when a row is wrong. */
export function seedMap(): string {
  const problems = seedMapProblems();
  if (problems.length > 0) throw new Error(`the map is wrong:\n${problems.join('\n')}`);
  const link = (file: string, title: string) => `[${titleOf(file, title)}](../${file})`;
  const rows = (all: Readonly<Record<string, Shown>>) =>
    Object.entries(all).map(([name, [file, title]]) => [`\`${name}\``, link(file, title)]);
  const state = Object.entries(stateFields).map(([name, [ours, file, title]]) => [
    `\`${name}\``,
    `\`${ours}\``,
    link(file, title),
  ]);
  return [
    '# From the original description to the tests',
    '',
    'Made by `npm run generate`. Each part of the description of the engine, and the test that shows it.',
    '',
    ...[
      '## Fields of `QueryEngineConfig`',
      '',
      ...table(['field', 'shown by'], rows(configFields)),
    ],
    ...['', '## State of the engine', '', ...table(['described as', 'ours', 'shown by'], state)],
    ...['', '## The thirteen steps of `submitMessage`', ''],
    ...table(['step', 'shown by'], rows(steps)),
    ...['', '## Reasons', '', ...table(['reason', 'shown by'], rows(reasons)), ''],
  ].join('\n');
}

/** With columns as wide as their widest cell: so the formatter leaves it as it is. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows].map(
    (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`,
  );
}

const titleOf = (file: string, begin: string): string =>
  (titlesOf(file).find((title) => title.startsWith(begin)) ?? file).replaceAll('|', '\\|');
