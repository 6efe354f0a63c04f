/** `escapement inspect`: look at a session of this folder, or at a recording, step by step. */
import { realpathSync } from 'node:fs';
import { constants, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import process from 'node:process';
import { Command, CommanderError } from 'commander';
import { FileJournalStore } from '../../services/journal/file-store.ts';
import { projectFolder } from '../../services/journal/transcript.ts';
import { engineHomeOf } from '../home-folders.ts';
import type { Run } from '../inspect/run.ts';
import { listSessions, type SessionInfo } from '../sessions.ts';
import { UsageError } from '../usage-error.ts';
import { type CliContext, exitCodes } from './context.ts';
import { mustBeReadable } from './coverage-file.ts';
import { portOf } from './flags.ts';
import { visible } from './printable.ts';
import { signalExitCodes } from './signals.ts';

interface Flags {
  readonly port?: number;
  readonly all?: true;
  readonly export?: string;
  readonly coverage?: string;
}

const LIST_MAX = 50;
const TITLE_CHARS_MAX = 60;

const after = `
Without a name: the newest session of this folder. A name may be shortened, as long as only one
session begins with it. The page is served on 127.0.0.1 until Ctrl-C; nothing leaves the machine.
A run is looked at while it runs with --inspect: escapement --inspect -p "…".

  escapement inspect                        the newest session
  escapement inspect 3f2a                   the session whose id begins so
  escapement inspect run.jsonl              a recording, exported by the page
  escapement inspect --export run.html      one file that shows itself, to send to somebody
`;

/** @returns the exit code. @throws UsageError naming what is wrong and what to do. */
export async function runInspect(argv: readonly string[], context: CliContext): Promise<number> {
  const { flags, names, help } = read(argv);
  if (help !== undefined) {
    await context.out.writeText(help);
    return exitCodes.good;
  }
  if (flags.all && flags.export !== undefined) {
    throw new UsageError('--all lists sessions and --export writes one: name one without --all');
  }
  if (flags.all && names.length > 0) {
    throw new UsageError(`--all lists every session: leave it out to open ${names[0]}`);
  }
  if (flags.all) return list(context);
  if (names.length > 1) {
    throw new UsageError(`one session or recording at a time, not ${names.length}: name one`);
  }
  if (flags.coverage !== undefined) await mustBeReadable('--coverage', flags.coverage);
  const run = await runNamed(names[0], context);
  if (flags.export !== undefined) return writeExport(run, flags.export, context);
  const { serveRun } = await import('../inspect/start-inspector.ts');
  const { port = 0, coverage } = flags;
  const served = await serveRun(run, { port, ...(coverage === undefined ? {} : { coverage }) });
  await context.out.writeText(`${run.hello().title}\n${served.url}\n`);
  await context.out.flush();
  const code = await untilSignal(context);
  await served.close();
  return code;
}

function read(argv: readonly string[]) {
  let help: string | undefined;
  const command = new Command('escapement inspect')
    .description('A session of this folder, or a recording, as a chart that you can step through.')
    .argument('[session-or-recording...]', 'an id, the begin of one, or a .jsonl file')
    .option('--port <port>', 'of the page; default: any that is free', portOf)
    .option('--all', 'list the sessions of this folder')
    .option('--export <file>', 'write it to a .html or .jsonl file instead')
    .option('--coverage <file>', 'which transitions tests have taken: coverage/chart.json')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', after)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        help = (help ?? '') + text;
      },
      writeErr: () => {},
    });
  try {
    command.parse([...argv], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (help === undefined) {
      const cause = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ');
      throw new UsageError(`${cause}: see escapement inspect --help`);
    }
  }
  return { flags: command.opts<Flags>(), names: command.args, help };
}

interface Place {
  readonly cwd: string;
  readonly home: string;
}

const placeOf = ({ cwd, environment }: CliContext): Place => ({
  cwd: realpathSync(cwd),
  home: engineHomeOf(environment),
});

async function runNamed(name: string | undefined, context: CliContext): Promise<Run> {
  if (name !== undefined && (await isFile(resolve(context.cwd, name)))) {
    const { readRecording } = await import('../inspect/recorded-run.ts');
    return readRecording(resolve(context.cwd, name), context.warn);
  }
  const place = placeOf(context);
  const session = await sessionNamed(name, place, context);
  const { runFromJournal } = await import('../inspect/from-journal.ts');
  const store = new FileJournalStore({ folder: projectFolder(place.home, place.cwd) });
  const { sessionId } = session;
  return runFromJournal({ store, sessionId, environment: context.environment });
}

async function sessionNamed(
  name: string | undefined,
  place: Place,
  context: CliContext,
): Promise<SessionInfo> {
  const sessions = await listSessions({ ...place, limit: Number.MAX_SAFE_INTEGER });
  const [newest] = sessions;
  if (!newest) {
    throw new UsageError(
      `there is no session of ${place.cwd} in ${place.home}: run escapement here first, or name a recording (.jsonl)`,
    );
  }
  if (name === undefined) return newest;
  const exact = sessions.find(({ sessionId }) => sessionId === name);
  const found = exact ? [exact] : sessions.filter(({ sessionId }) => sessionId.startsWith(name));
  const [one, other] = found;
  if (one && !other) return one;
  if (!one) {
    throw new UsageError(
      `${name} is neither a file nor a session of ${place.cwd}: escapement inspect --all lists them`,
    );
  }
  await context.out.writeText(tableOf(found.slice(0, LIST_MAX)));
  throw new UsageError(`${found.length} sessions begin with ${name}: name more of the id`);
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );

async function list(context: CliContext): Promise<number> {
  const place = placeOf(context);
  const sessions = await listSessions({ ...place, limit: LIST_MAX });
  const none = `There is no session of ${place.cwd} in ${place.home}.\n`;
  await context.out.writeText(sessions.length > 0 ? tableOf(sessions) : none);
  return exitCodes.good;
}

const tableOf = (sessions: readonly SessionInfo[]): string =>
  sessions
    .map(({ sessionId, modifiedMs, title }) => {
      const when = new Date(modifiedMs).toISOString().slice(0, 16).replace('T', ' ');
      return `${sessionId}  ${when}  ${visible(title).replace(/\s+/g, ' ').slice(0, TITLE_CHARS_MAX)}\n`;
    })
    .join('');

async function writeExport(run: Run, file: string, context: CliContext): Promise<number> {
  const path = resolve(context.cwd, file);
  let text = '';
  if (/\.html?$/i.test(file)) {
    const { exportedHtml } = await import('../inspect/server.ts');
    text = await exportedHtml(run);
  } else if (/\.jsonl$/i.test(file)) {
    const { recordingOf } = await import('../inspect/recording.ts');
    for await (const line of recordingOf(run)) text += line;
  } else throw new UsageError(`--export ${file}: name a .html or a .jsonl file`);
  try {
    await writeForOwner(path, text);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path}: cannot be written (${code}): name another file`);
  }
  await context.out.writeText(`${path}\n`);
  return exitCodes.good;
}

/**
 * What was said in a session is for its owner, until he gives it away: also in a file that was
 * there, and from before the first byte.
 */
async function writeForOwner(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    await file.chmod(0o600);
    await file.truncate();
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

/** Ctrl-C is how it is meant to end. */
function untilSignal({ out }: CliContext): Promise<number> {
  return new Promise((settle) => {
    const end = () => settle(exitCodes.good);
    for (const signal of Object.keys(signalExitCodes)) process.once(signal, end);
    out.gone.addEventListener('abort', end, { once: true });
  });
}
