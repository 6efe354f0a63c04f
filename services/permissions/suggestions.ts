/**
 * What a person could say yes to once and for all, when asked about a call: the narrowest rule that
 * is still of use. For `canUseTool`, as the Agent SDK's `suggestions`.
 */
import { dirname } from 'node:path';
import type { Tool, ToolInput } from '../tools/tool.ts';
import { absolute } from './paths.ts';
import { shellParser } from './shell/parser.ts';
import { isReadOnlyWords } from './shell/read-only.ts';
import { readShell, type ShellCommand } from './shell/reading.ts';
import type { PermissionUpdate, RuleValue } from './updates.ts';

/** More rules than this are no simple question any more. */
const RULES_MAX = 5;
/** Programs whose first word says what they do. */
const withCommands = new Set([
  ...['git', 'npm', 'pnpm', 'yarn', 'bun', 'cargo', 'go', 'docker', 'kubectl', 'make', 'pip', 'gh'],
  ...['dotnet', 'mvn', 'gradle', 'poetry', 'uv', 'brew', 'apt', 'systemctl', 'terraform'],
]);
/** A rule for all that these can start would be a rule for everything. */
const neverAsPrefix = new Set([
  ...[
    'rm',
    'sudo',
    'doas',
    'sh',
    'bash',
    'zsh',
    'dash',
    'env',
    'xargs',
    'eval',
    'exec',
    'ssh',
    'su',
  ],
  ...['python', 'python3', 'node', 'perl', 'ruby', 'php', 'deno', 'find', 'dd', 'chmod', 'chown'],
]);

/** @param place `home` and `cwd`, absolute. Nothing is suggested where no rule would help. */
export function suggestionsFor(
  tool: Tool,
  input: ToolInput,
  place: { readonly cwd: string; readonly home: string },
): readonly PermissionUpdate[] {
  const touches = tool.touches(input);
  switch (touches.kind) {
    case 'edit':
      return [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
    case 'read': {
      const folders = touches.paths.map((path) => dirname(absolute(path, place)));
      const rules = [...new Set(folders)].map((folder) => ({
        toolName: 'Read',
        ruleContent: `/${folder === '/' ? '' : folder}/**`,
      }));
      return rules.length > 0 ? [allowRules(rules, 'session')] : [];
    }
    case 'shell':
      return forShell(touches.command);
    case 'fetch': {
      const host = URL.canParse(touches.url) ? new URL(touches.url).hostname : '';
      return host
        ? [allowRules([{ toolName: tool.name, ruleContent: `domain:${host}` }], 'localSettings')]
        : [];
    }
    case 'nothing':
    case 'unknown':
      return [allowRules([{ toolName: tool.name }], 'localSettings')];
  }
}

const allowRules = (
  rules: readonly RuleValue[],
  destination: 'session' | 'localSettings',
): PermissionUpdate => ({ type: 'addRules', rules, behavior: 'allow', destination });

/** One rule for each command that is not harmless anyway. None when a doubt would be left. */
function forShell(source: string): readonly PermissionUpdate[] {
  if (!shellParser()) return [];
  const { commands, redirects, doubts } = readShell(source);
  if (doubts.length > 0 || redirects.some(({ direction }) => direction === 'write')) return [];
  const asking = commands.filter((command) => !command.isWrapper && !isReadOnlyWords(command));
  const contents = [...new Set(asking.map(contentOf))];
  const rules = contents.flatMap((ruleContent) =>
    ruleContent === undefined ? [] : [{ toolName: 'Bash', ruleContent }],
  );
  const isComplete = rules.length === contents.length && rules.length <= RULES_MAX;
  return isComplete && rules.length > 0 ? [allowRules(rules, 'localSettings')] : [];
}

/** `npm run test:*`, `git push:*`; dangerous ones word by word. `undefined`: not to be written. */
function contentOf({ words }: ShellCommand): string | undefined {
  const texts = words.map(({ text }) => text);
  if (texts.some((text) => !/^[\w@%+=:,./-]+$/.test(text))) return undefined;
  const [name = '', first, second] = texts;
  if (neverAsPrefix.has(name)) return texts.join(' ');
  if (!withCommands.has(name) || first === undefined || first.startsWith('-')) {
    return texts.length === 1 ? name : `${name}:*`;
  }
  const isRun = first === 'run' && second !== undefined && !second.startsWith('-');
  return `${[name, first, ...(isRun ? [second] : [])].join(' ')}:*`;
}
