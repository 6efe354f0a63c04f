/** The first question of the interactive mode: may what lies in this folder act? */
import { realpathSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { engineHomeOf } from '../home-folders.ts';
import { actionsOf, instructionsOf, trustFolder, trustOf } from '../trust.ts';
import type { CliContext } from './context.ts';
import { visible } from './printable.ts';

/**
 * Asks only when there is something to trust and nobody has said so yet, or when it has changed.
 * Anything but a yes is a no: then only what the folder forbids counts.
 * @returns whether the folder's own settings, hooks, rules, servers and instructions count.
 */
export async function askTrust(
  { cwd: given, environment, out }: Pick<CliContext, 'cwd' | 'environment' | 'out'>,
  terminal: Readable,
): Promise<boolean> {
  const cwd = realpathSync(given);
  const home = engineHomeOf(environment);
  const trust = trustOf(cwd, home);
  if (trust === 'trusted') return true;
  if (trust === 'nothing_to_trust') return false;
  const acts = actionsOf(cwd).map((line) => `  · it ${visible(line).replace(/\s+/g, ' ')}`);
  const texts = instructionsOf(cwd).map((file) => `  · ${file} is read to the model`);
  const why =
    trust === 'changed'
      ? 'What this folder does by itself has changed since you trusted it.'
      : 'This folder has settings or instructions of its own.';
  await out.writeText(
    `${[why, `  ${visible(cwd)}`, ...acts, ...texts].join('\n')}\nDo you trust it? [y/N] `,
  );
  const isYes = /^\s*(y|yes)\s*$/i.test(await oneLine(terminal));
  if (!isYes) {
    await out.writeText('Not trusted: only what it forbids counts.\n\n');
    return false;
  }
  const isKept = await trustFolder(cwd, home);
  await out.writeText(isKept ? '\n' : 'Trusted for this session.\n\n');
  return true;
}

/** A terminal hands over one line at a time; what is typed after it stays for the session. */
const oneLine = (terminal: Readable): Promise<string> =>
  new Promise((resolve) => {
    const settle = (text: string) => {
      terminal.off('data', onData);
      terminal.off('end', onEnd);
      terminal.pause();
      resolve(text);
    };
    const onData = (chunk: Buffer) => settle(chunk.toString('utf8'));
    const onEnd = () => settle(''); // a closed terminal is no yes
    terminal.on('data', onData);
    terminal.on('end', onEnd);
    terminal.resume();
  });
