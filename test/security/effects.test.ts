/**
 * What is allowed is run, in bubblewrap, and what it leaves behind is looked at. Of two thousand
 * generated commands none may be allowed that changes something which no rule allows.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createJudge } from '../../services/permissions/judge.ts';
import { sandboxState } from '../../services/sandbox/sandbox.ts';
import { tools } from '../services/permissions/ground.ts';
import { anyCommand } from './commands.ts';

const found = await sandboxState();
const COMMANDS = 2_000;
/** The same commands each time; another number looks at others. */
const seed = Number(process.env.ESCAPEMENT_TEST_SEED ?? 20_260_731);
/** Run in one fence, and looked at together; one by one only to find out which it was. */
const BATCH = 50;
const rules = ['Bash(touch allowed/*)', 'Bash(mkdir allowed/*)', 'Bash(echo:*)'];

/** A folder that is there to be broken. */
function ground() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'effects-')));
  const [w, home, out] = ['w', 'home', 'out'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [w, home, out, join(w, 'allowed'), join(w, 'src'), join(root, 'tmp')]) {
    mkdirSync(folder);
  }
  for (const [name, text] of [
    ...[
      ['a.txt', 'b\na\na\n'],
      ['b.txt', 'c\n'],
      ['src/x.ts', 'let a;\n'],
    ],
    ...[
      ['script.sh', '#!/bin/sh\ntouch p\ncat\n'],
      ['x.so', ''],
    ],
  ] as const) {
    writeFileSync(join(w, name), text);
  }
  chmodSync(join(w, 'script.sh'), 0o755);
  symlinkSync(out, join(w, 'link'));
  return { root, w, home };
}
type Ground = ReturnType<typeof ground>;

/** All there is but what the rules allow: names, kinds, sizes, times, targets. */
function state({ root, w }: Ground): string {
  const seen: string[] = [];
  const walk = (folder: string) => {
    for (const name of readdirSync(folder).sort()) {
      const path = join(folder, name);
      if (path === join(w, 'allowed')) continue;
      const stats = lstatSync(path, { bigint: true });
      const target = stats.isSymbolicLink() ? readlinkSync(path) : '';
      // The time of a folder says no more than the names in it.
      const time = stats.isDirectory() ? '' : stats.mtimeNs;
      seen.push(`${path} ${stats.mode} ${stats.isDirectory() ? '' : stats.size} ${time} ${target}`);
      if (stats.isDirectory()) walk(path);
    }
  };
  walk(root);
  return seen.join('\n');
}

/** Each in a shell of its own, two seconds at most, everything but the ground read-only. */
function run(commands: readonly string[], { root, w, home }: Ground): void {
  const scripts = mkdtempSync(join(tmpdir(), 'effects-commands-'));
  const names = commands.map((command, index) => {
    const file = join(scripts, `${index}.sh`);
    writeFileSync(file, command);
    return file;
  });
  const bwrap = found.isThere ? found.program : '';
  const each = 'for f in "$@"; do timeout -k 1 2 bash -c "$(cat "$f")" </dev/null; done; true';
  execFileSync(
    bwrap,
    [
      ...[
        '--unshare-all',
        '--die-with-parent',
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--proc',
        '/proc',
      ],
      ...['--bind', root, root, '--chdir', w, '--setenv', 'TMPDIR', join(root, 'tmp')],
      ...[
        '--setenv',
        'HOME',
        home,
        '--setenv',
        'TERM',
        'dumb',
        'bash',
        '-c',
        each,
        'bash',
        ...names,
      ],
    ],
    { stdio: 'ignore', timeout: 120_000 },
  );
  rmSync(scripts, { recursive: true, force: true });
}

/** Which of them changes something. */
function culprits(commands: readonly string[]): readonly string[] {
  return commands.filter((command) => {
    const own = ground();
    const before = state(own);
    run([command], own);
    const isChanged = state(own) !== before;
    rmSync(own.root, { recursive: true, force: true });
    return isChanged;
  });
}

describe.skipIf(!found.isThere)('of generated commands (needs bubblewrap)', () => {
  it(`none of ${COMMANDS} that changes more than its rules allow is allowed`, {
    timeout: 120_000,
  }, async () => {
    const commands = fc.sample(anyCommand, { numRuns: COMMANDS, seed });
    const place = ground();
    const judge = createJudge({ home: place.home });
    const set = { source: 'user' as const, allow: rules, deny: [], ask: [] };
    const context = {
      ...{ mode: 'default' as const, rules: [set], additionalDirectories: [] },
      isBypassAvailable: false,
    };
    const allowed: string[] = [];
    const others: string[] = [];
    for (const command of commands) {
      const { behavior } = await judge(tools.Bash, { command }, context, place.w);
      (behavior === 'allow' ? allowed : others).push(command);
    }
    // The test is about something: many are allowed, and the fence sees what the others would do.
    expect(allowed.length).toBeGreaterThan(150);
    const control = others.filter((_, index) => index % 40 === 0);
    expect(culprits(control).length).toBeGreaterThan(control.length / 4);

    const before = state(place);
    for (let at = 0; at < allowed.length; at += BATCH) {
      const batch = allowed.slice(at, at + BATCH);
      run(batch, place);
      if (state(place) === before) continue;
      expect({ seed, culprits: culprits(batch) }).toEqual({ seed, culprits: [] });
      throw new Error(`together they change something, alone none of them does (seed ${seed})`);
    }
    rmSync(place.root, { recursive: true, force: true });
  });
});
