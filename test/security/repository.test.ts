/** A repository of a stranger: what git would run or borrow in it, and that nobody runs it unasked. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { submodulesOf } from '../../services/permissions/git/index-file.ts';
import { repositoryDoubt } from '../../services/permissions/git/repository.ts';
import { say } from '../../src/testing/index.ts';
import { ground } from '../services/permissions/ground.ts';
import { tell } from '../tools/story.ts';

const git = (cwd: string, ...args: string[]) => {
  const identity = [
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    '-c',
    'protocol.file.allow=always',
  ];
  return execFileSync('git', [...identity, ...args], {
    ...{ cwd, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  });
};

/** A repository with one commit, and a program beside it that leaves a mark. */
function repository(root = realpathSync(mkdtempSync(join(tmpdir(), 'repository-')))) {
  const [w, mark, program] = ['w', 'ran', 'program'].map((name) => join(root, name)) as [
    ...[string, string, string],
  ];
  make(w);
  writeFileSync(program, `#!/bin/sh\ntouch ${mark}\n`);
  chmodSync(program, 0o755);
  return { root, w, mark, program };
}

function make(folder: string): void {
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q', '-b', 'main');
  writeFileSync(join(folder, 'a.txt'), `${folder}\n`);
  git(folder, 'add', '.');
  git(folder, 'commit', '-qm', 'one');
}

/** What the judge says: the folder of the call is the session's. */
async function judged(cwd: string, command: string): Promise<string> {
  const { bash } = await ground();
  return bash(`cd ${cwd} && ${command}`, { allow: [`Bash(cd ${cwd})`] });
}

/** Each breaks a sound repository in a way of its own. */
const hostile: readonly (readonly [string, (place: ReturnType<typeof repository>) => string])[] = [
  [
    'a submodule whose configuration names a monitor',
    ({ root, w, program }) => {
      make(join(root, 'other'));
      git(w, 'submodule', '--quiet', 'add', join(root, 'other'), 'sub');
      git(w, 'commit', '-qm', 'sub');
      git(join(w, 'sub'), 'config', 'core.fsmonitor', program);
      return w;
    },
  ],
  [
    'a repository in the place of a submodule',
    ({ w, program }) => {
      make(join(w, 'sub'));
      git(w, 'add', 'sub');
      git(join(w, 'sub'), 'config', 'core.fsmonitor', program);
      return w;
    },
  ],
  [
    'a `.git` that git passes over, below one that it does not',
    ({ w, program }) => {
      git(w, 'config', 'core.fsmonitor', program);
      mkdirSync(join(w, 'sub/.git'), { recursive: true });
      writeFileSync(join(w, 'sub/.git/HEAD'), 'ref: refs/heads/main\n');
      return join(w, 'sub');
    },
  ],
];

describe('git that only looks', () => {
  it.each(hostile)('asks in %s, and the danger is real', async (_, prepare) => {
    const place = repository();
    const folder = prepare(place);
    expect(await judged(folder, 'git status')).toBe('ask');
    rmSync(place.mark, { force: true });
    git(folder, 'status');
    expect(existsSync(place.mark)).toBe(true);
  });

  it('asks where a repository shows what another holds', async () => {
    const { root, w } = repository();
    const secret = join(root, 'private');
    make(secret);
    const fakes: Readonly<Record<string, (folder: string) => void>> = {
      pointer: (folder) => {
        rmSync(join(folder, '.git'), { recursive: true });
        writeFileSync(join(folder, '.git'), `gitdir: ${secret}/.git\n`);
      },
      commondir: (folder) => writeFileSync(join(folder, '.git/commondir'), `${secret}/.git\n`),
      alternates: (folder) =>
        writeFileSync(join(folder, '.git/objects/info/alternates'), `${secret}/.git/objects\n`),
      objects: (folder) => {
        rmSync(join(folder, '.git/objects'), { recursive: true });
        symlinkSync(join(secret, '.git/objects'), join(folder, '.git/objects'));
      },
      'a pack': (folder) => symlinkSync('/nowhere', join(folder, '.git/objects/pack/x.pack')),
      'a work tree': (folder) => git(folder, 'config', 'core.worktree', secret),
      'a made-up worktree': (folder) => {
        renameSync(join(folder, '.git'), join(folder, 'x'));
        writeFileSync(join(folder, 'x/commondir'), `${secret}/.git\n`);
        writeFileSync(join(folder, 'x/gitdir'), `${folder}/.git\n`);
        writeFileSync(join(folder, '.git'), 'gitdir: x\n');
      },
      'a summary of submodules': (folder) =>
        git(folder, 'config', 'status.submoduleSummary', 'true'),
    };
    for (const [name, fake] of Object.entries(fakes)) {
      const folder = join(root, name.replaceAll(' ', '-'));
      make(folder);
      expect([name, await repositoryDoubt(folder)]).toEqual([name, undefined]);
      fake(folder);
      expect([name, await repositoryDoubt(folder)]).toEqual([name, expect.any(String)]);
    }
    expect(await repositoryDoubt(w)).toBeUndefined();
  });

  it('runs unasked in a repository with sound submodules, in them, and in a worktree', async () => {
    const { root, w } = repository();
    make(join(root, 'other'));
    git(w, 'submodule', '--quiet', 'add', join(root, 'other'), 'deep/sub');
    git(w, 'commit', '-qm', 'sub');
    git(w, 'worktree', 'add', '-q', join(root, 'tree'), '-b', 'side');
    git(w, 'submodule', 'deinit', '-q', '-f', 'deep/sub');
    expect(await repositoryDoubt(w)).toBeUndefined();
    git(w, 'submodule', '--quiet', 'update', '--init');
    for (const folder of [w, join(w, 'deep'), join(w, 'deep/sub'), join(root, 'tree')]) {
      expect([folder, await repositoryDoubt(folder)]).toEqual([folder, undefined]);
    }
  });
});

describe('the index of git', () => {
  it.each([
    ['2', 'sha1', 20],
    ['3', 'sha1', 20],
    ['4', 'sha1', 20],
    ['4', 'sha256', 32],
  ])('of version %s with %s names its submodules', (version, format, hashBytes) => {
    const folder = mkdtempSync(join(tmpdir(), 'index-'));
    git(folder, 'init', '-q', `--object-format=${format}`);
    const name = fc.stringMatching(/^[a-z]{1,12}$/);
    const [files = []] = fc.sample(
      fc.uniqueArray(fc.tuple(name, name, fc.boolean()), {
        ...{ minLength: 20, maxLength: 60, selector: ([one, other]) => `${one}/${other}` },
      }),
      { numRuns: 1, seed: 7 },
    );
    const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], { cwd: folder, input: 'x' });
    const entries = files.map(([above, below, isLink]) =>
      [isLink ? '160000' : '100644', String(blob).trim(), `0\tx${above}/y${below}`].join(' '),
    );
    const input = entries.map((entry) => entry.replace(/ 0\t/, ' 0\t')).join('\n');
    execFileSync('git', ['update-index', '--index-info'], { cwd: folder, input });
    if (version === '3') git(folder, 'update-index', '--skip-worktree', firstFile(folder));
    git(folder, 'update-index', '--index-version', version);
    const wanted = git(folder, 'ls-files', '-s')
      .split('\n')
      .filter((line) => line.startsWith('160000'))
      .map((line) => line.slice(line.indexOf('\t') + 1));
    const index = readFileSync(join(folder, '.git/index'));
    expect(wanted.length).toBeGreaterThan(3);
    expect(submodulesOf(index, hashBytes)).toEqual(wanted);
    // Read with the other length, or cut off, it is no index, and never one without submodules.
    expect(submodulesOf(index, hashBytes === 20 ? 32 : 20)).toBeUndefined();
    expect(submodulesOf(index.subarray(0, index.length - 30), hashBytes)).toBeUndefined();
  });

  it('that is split is not understood, nor is any other text (property)', () => {
    const { w } = repository();
    git(w, 'update-index', '--split-index');
    expect(submodulesOf(readFileSync(join(w, '.git/index')), 20)).toBeUndefined();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(submodulesOf(Buffer.from(bytes), 20)).toBeUndefined();
        submodulesOf(Buffer.concat([readFileSync(join(w, '.git/index')), Buffer.from(bytes)]), 20);
      }),
    );
  });
});

const firstFile = (folder: string) =>
  /^100644 .*\t(.+)$/m.exec(git(folder, 'ls-files', '-s'))?.[1] ?? '';

describe('the first prompt in a folder of a stranger', () => {
  const place = repository();

  it('starts no program of it, although nobody was asked and no tool is called', async () => {
    const told = await tell({
      script: { replies: [say('hello')] },
      prompts: ['hi'],
      prepare: ({ cwd }) => {
        make(cwd);
        git(cwd, 'config', 'core.fsmonitor', place.program);
      },
    });
    expect(told.results).toHaveLength(1);
    expect(existsSync(place.mark)).toBe(false);
    expect(JSON.stringify(told.server.requests[0]?.body)).not.toContain('Git when');
  });

  it('still says how a repository stands that starts nothing, and leaves its index alone', async () => {
    let before = '';
    let index = '';
    const told = await tell({
      script: { replies: [say('hello')] },
      prompts: ['hi'],
      prepare: ({ cwd }) => {
        make(cwd);
        writeFileSync(join(cwd, 'a.txt'), 'changed\n');
        index = join(cwd, '.git/index');
        before = readFileSync(index, 'latin1');
      },
      during: () => expect(readFileSync(index, 'latin1')).toBe(before),
    });
    expect(JSON.stringify(told.server.requests[0]?.body)).toContain('branch main; changed files');
  });
});
