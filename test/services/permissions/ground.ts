/** A folder on disk, tools as they say what they touch, and a judge over both. */
import { mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createJudge, type JudgeOptions } from '../../../services/permissions/judge.ts';
import type {
  PermissionDecision,
  PermissionMode,
  RuleSet,
} from '../../../services/permissions/types.ts';
import type { Tool, ToolInput, Touches } from '../../../services/tools/tool.ts';

export interface Settings {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
}
export const toolThat = (
  name: string,
  touches: (input: ToolInput) => Touches,
  more: Partial<Tool> = {},
): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  maxResultSizeChars: 1_000,
  parse: (input) => ({ ok: true, input: input as ToolInput }),
  isConcurrencySafe: () => false,
  isReadOnly: () => false,
  touches,
  deadlineMs: () => 1_000,
  gist: () => '',
  call: async () => ({ content: '' }),
  ...more,
});
const paths = (input: ToolInput) => [String(input.path)];
export const tools = {
  Bash: toolThat('Bash', (input) => ({ kind: 'shell', command: String(input.command) })),
  Read: toolThat('Read', (input) => ({ kind: 'read', paths: paths(input) })),
  Grep: toolThat('Grep', (input) => ({ kind: 'read', paths: paths(input) })),
  Glob: toolThat('Glob', (input) => ({ kind: 'read', paths: paths(input) })),
  Edit: toolThat('Edit', (input) => ({ kind: 'edit', paths: paths(input) })),
  Write: toolThat('Write', (input) => ({ kind: 'edit', paths: paths(input) })),
  WebFetch: toolThat('WebFetch', (input) => ({ kind: 'fetch', url: String(input.url) })),
  TodoWrite: toolThat('TodoWrite', () => ({ kind: 'nothing' })),
  mcp: toolThat('mcp__srv__look', () => ({ kind: 'unknown' }), {
    isExternal: true,
    isReadOnly: () => true,
  }),
};

export const ruleSet = ({ allow = [], deny = [], ask = [] }: Settings): RuleSet => ({
  ...{ source: 'project', allow, deny, ask },
});

export interface Ground {
  /** Real path of the folder `/w` of the cases. */
  readonly w: string;
  readonly home: string;
  decide(
    tool: Tool,
    input: ToolInput,
    settings?: Settings,
    mode?: PermissionMode,
  ): Promise<PermissionDecision>;
  /** What a row of a case says: `allow`, `ask` or `deny`. `/w` stands for the folder. */
  bash(command: string, settings?: Settings, mode?: PermissionMode): Promise<string>;
  file(
    name: keyof typeof tools,
    path: string,
    settings?: Settings,
    mode?: PermissionMode,
  ): Promise<string>;
}

/** @param files path to content, or `-> target` for a link. */
export async function ground(
  files: Readonly<Record<string, string>> = {},
  options: Partial<JudgeOptions> = {},
): Promise<Ground> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'perm-')));
  const [w, home] = [join(root, 'w'), join(root, 'home')];
  await mkdir(w);
  await mkdir(home);
  const here = (text: string) => text.replaceAll(/(?<![\w.])\/w(?=[/ "'`)]|$)/g, w);
  const ruled = (text: string) => text.replaceAll('//w', `/${w}`);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(here(path)), { recursive: true });
    if (content.startsWith('-> ')) await symlink(here(content.slice(3)), here(path));
    else await writeFile(here(path), content);
  }
  const judge = createJudge({ home, ...options });
  const decide: Ground['decide'] = (tool, input, settings = {}, mode = 'default') => {
    const { allow = [], deny = [], ask = [] } = settings;
    const set = ruleSet({ allow: allow.map(ruled), deny: deny.map(ruled), ask: ask.map(ruled) });
    return judge(
      tool,
      input,
      { mode, rules: [set], additionalDirectories: [], isBypassAvailable: true },
      w,
    );
  };
  return {
    ...{ w, home, decide },
    bash: async (command, settings, mode) =>
      (await decide(tools.Bash, { command: here(command) }, settings, mode)).behavior,
    file: async (name, path, settings, mode) =>
      (await decide(tools[name], { path: here(path) }, settings, mode)).behavior,
  };
}
