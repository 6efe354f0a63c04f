/**
 * `escapement doctor`: is this machine, this folder, fit to work in? Looks only; writes nothing,
 * asks no network, and never shows a key.
 */
import { execFile } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { promisify } from 'node:util';
import { readHookSettings } from '../../services/hooks/settings.ts';
import { messageOf } from '../../services/message-of.ts';
import { loadShellParser } from '../../services/permissions/shell/parser.ts';
import { sandboxState } from '../../services/sandbox/sandbox.ts';
import { ripgrepsIn } from '../../services/tools/files/ripgrep.ts';
import { engineHomeOf, userHomeOf } from '../home-folders.ts';
import { type SandboxPlace, sandboxPolicy } from '../sandbox-policy.ts';
import {
  type LoadedSettings,
  loadSettings,
  managedSettingsFile,
  merged,
  type SettingSource,
  settingsFiles,
} from '../settings.ts';
import { mayBeFolder, statsOf } from '../stats-of.ts';
import { actionsOf, trustOf } from '../trust.ts';
import { UsageError } from '../usage-error.ts';
import { VERSION } from '../version.ts';
import { type CliContext, exitCodes } from './context.ts';
import { visible } from './printable.ts';

/** `bad`: something will not work. `note`: it works, and somebody should know. */
interface Finding {
  readonly kind: 'good' | 'note' | 'bad';
  readonly what: string;
  readonly text: string;
}
const good = (what: string, text: string): Finding => ({ kind: 'good', what, text });
const note = (what: string, text: string): Finding => ({ kind: 'note', what, text });
const bad = (what: string, text: string): Finding => ({ kind: 'bad', what, text });

const NODE_MIN = [20, 19] as const;
const marks: Record<Finding['kind'], string> = { good: '✓', note: '•', bad: '✗' };

/** @returns the exit code: 1 when something is wrong. @throws UsageError for arguments. */
export async function runDoctor(args: readonly string[], context: CliContext): Promise<number> {
  if (args.length > 0) throw new UsageError('doctor takes no arguments');
  const findings = await examine(context);
  const width = Math.max(...findings.map(({ what }) => what.length));
  const lines = findings.map(
    ({ kind, what, text }) =>
      `${marks[kind]} ${what.padEnd(width)}  ${visible(text).replace(/\s+/g, ' ')}`,
  );
  await context.out.writeText(`Escapement ${VERSION}\n${lines.join('\n')}\n`);
  return findings.some(({ kind }) => kind === 'bad') ? exitCodes.failed : exitCodes.good;
}

async function examine({ cwd: given, environment }: CliContext): Promise<readonly Finding[]> {
  const cwd = realpathSync(given);
  const home = engineHomeOf(environment);
  const settings = await examineSettings(cwd, home);
  return [
    nodeVersion(),
    model(environment),
    homeFolder(home),
    ...settings.findings,
    trust(cwd, home),
    await parser(),
    await git(environment),
    await search(environment),
    await sandbox(settings.loaded, { cwd, home, userHome: userHomeOf(environment) }),
  ];
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isNewEnough = major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
  return isNewEnough
    ? good('node', process.versions.node)
    : bad('node', `${process.versions.node}: at least ${NODE_MIN.join('.')} is needed`);
}

function model(environment: CliContext['environment']): Finding {
  const { ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL } = environment;
  if (ANTHROPIC_BASE_URL && !URL.canParse(ANTHROPIC_BASE_URL)) {
    return bad('model', 'ANTHROPIC_BASE_URL is no URL');
  }
  const server = ANTHROPIC_BASE_URL ? new URL(ANTHROPIC_BASE_URL).host : 'api.anthropic.com';
  if (ANTHROPIC_API_KEY) return good('model', `${server}, with ANTHROPIC_API_KEY`);
  if (ANTHROPIC_AUTH_TOKEN) return good('model', `${server}, with ANTHROPIC_AUTH_TOKEN`);
  if (ANTHROPIC_BASE_URL) return good('model', `${server}, without a key`);
  return bad('model', 'set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for another server');
}

/** Transcripts hold what was read. */
function homeFolder(home: string): Finding {
  const stats = statsOf(home);
  if (!mayBeFolder(home)) return bad('home', `${home} is no folder, and can be none`);
  if (!stats) return note('home', `${home} will be made with the first session`);
  const isOpen = process.platform !== 'win32' && (stats.mode & 0o077) !== 0;
  return isOpen
    ? note('home', `${home} can be read by others: chmod 700 ${home}`)
    : good('home', home);
}

/** File by file, so that all that is wrong is told at once. */
async function examineSettings(cwd: string, home: string) {
  const loaded: LoadedSettings[] = [];
  const findings: Finding[] = [];
  const look = async (what: string, file: string, load: () => ReturnType<typeof loadSettings>) => {
    if (!existsSync(file)) return;
    try {
      const [one] = await load();
      if (!one) return;
      loaded.push(one);
      const { allow = [], deny = [], ask = [] } = one.settings.permissions ?? {};
      const { errors } = readHookSettings({ ...one, hooks: one.settings.hooks });
      const rules = `${allow.length} allow, ${deny.length} deny, ${ask.length} ask`;
      findings.push(good(what, `${file}: ${rules}`));
      findings.push(...one.warnings.map((warning) => note(what, warning)));
      for (const { path, message, remedy } of errors) {
        findings.push(bad(what, `${file}: ${path} ${message}: ${remedy}`));
      }
    } catch (error) {
      findings.push(bad(what, messageOf(error)));
    }
  };
  const files = settingsFiles({ cwd, home });
  for (const source of ['user', 'project', 'local'] satisfies SettingSource[]) {
    const sources = [source];
    await look(source, files[source], () => loadSettings({ cwd, home, sources }));
  }
  const managedFile = managedSettingsFile;
  await look('managed', managedFile, () => loadSettings({ cwd, home, sources: [], managedFile }));
  if (findings.length === 0) findings.push(good('settings', 'none: every default holds'));
  return { loaded, findings };
}

function trust(cwd: string, home: string): Finding {
  try {
    const acts = actionsOf(cwd);
    const would = acts.length > 0 ? `; it ${acts.join('; it ')}` : '';
    switch (trustOf(cwd, home)) {
      case 'nothing_to_trust':
        return good('trust', 'nothing in this folder acts by itself');
      case 'trusted':
        return good('trust', `this folder is trusted${would}`);
      case 'changed':
        return note(
          'trust',
          `this folder was trusted and has changed since: it is asked again${would}`,
        );
      case 'unknown':
        return note('trust', `this folder is not trusted: only what it forbids counts${would}`);
    }
  } catch (error) {
    return bad('trust', messageOf(error));
  }
}

async function parser(): Promise<Finding> {
  try {
    await loadShellParser();
    return good('shell', 'commands are parsed');
  } catch (error) {
    return bad('shell', `the parser cannot be loaded, so every command asks: ${String(error)}`);
  }
}

async function git(environment: CliContext['environment']): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { env: environment });
    return good('git', stdout.trim());
  } catch {
    return note('git', 'not found: the model is told nothing of the repository');
  }
}

async function search(environment: CliContext['environment']): Promise<Finding> {
  const [first] = await ripgrepsIn(environment);
  return first === undefined
    ? note('search', 'no ripgrep: the own search is slower')
    : good('search', first);
}

async function sandbox(loaded: readonly LoadedSettings[], place: SandboxPlace): Promise<Finding> {
  const policy = sandboxPolicy(merged(loaded).sandbox, place);
  const state = await sandboxState();
  if (state.isThere) {
    return good('sandbox', policy ? `on, with ${state.program}` : `off; ${state.program} is there`);
  }
  if (!policy) return note('sandbox', `off; ${state.why}`);
  return policy.isRequired
    ? bad('sandbox', `required, and no command will run: ${state.why}`)
    : bad('sandbox', `asked for, and commands run without it: ${state.why}`);
}
