/** The one way in which Write, Edit and MultiEdit change a file. */
import type { BigIntStats } from 'node:fs';
import { wellFormed } from '../../well-formed.ts';
import { sizeOf } from '../text/amounts.ts';
import type { ToolContext } from '../tool.ts';
import { type DecodedText, decodeText, encodeText } from './encoding.ts';
import { fileStateOf, fingerprintOf, hashOf, isSameContent } from './file-state.ts';
import { EDIT_BYTES_MAX, SNIFF_BYTES } from './limits.ts';
import { mediaKindOf } from './media-kind.ts';
import { openRegular, readWhole } from './open-regular.ts';
import { done, fault, type Outcome, sayFileError } from './outcome.ts';
import { inPathQueue } from './path-queue.ts';
import { pathIn, realTarget } from './paths.ts';
import { writeAtomically } from './write-atomically.ts';

export type CurrentContent =
  | { readonly kind: 'absent' }
  | ({ readonly kind: 'text' } & DecodedText)
  | { readonly kind: 'binary'; readonly what: string };

/** Works out the new content. Pure; a fault leaves the file as it is. */
export type ChangeOf = (current: CurrentContent, path: string) => Outcome<DecodedText>;

export interface FileChange {
  readonly path: string;
  /** `undefined`: there was no text. */
  readonly before: string | undefined;
  readonly after: string;
  readonly isNew: boolean;
  /** The file had this very content; it was not touched. */
  readonly isSame: boolean;
}

/**
 * Changes one file: in the file's queue, only if the model has seen what it changes, atomically.
 * *Contract:* a fault means that nothing was changed.
 */
export const changeFile = async (
  context: ToolContext,
  filePath: string,
  changeOf: ChangeOf,
): Promise<Outcome<FileChange>> => {
  const path = pathIn(context.cwd, filePath);
  const target = await realTarget(path);
  if (!target.ok) return target;
  return inPathQueue(target.value, async () => {
    if (context.signal.aborted) return fault(`Stopped. Nothing was changed: ${path}`);
    try {
      return await changeTarget(context, path, target.value, changeOf);
    } catch (error) {
      return fault(sayFileError(error, path));
    }
  });
};

/** Text of the model that can be stored in a file at all. */
export const isStorable = (...texts: readonly string[]): boolean =>
  texts.every((text) => wellFormed(text) === text);

const changeTarget = async (
  context: ToolContext,
  path: string,
  realPath: string,
  changeOf: ChangeOf,
): Promise<Outcome<FileChange>> => {
  const found = await currentOf(context, path, realPath);
  if (!found.ok) return found;
  const { current, before } = found.value;
  const changed = changeOf(current, path);
  if (!changed.ok) return changed;
  const bytes = encodeText(changed.value.text, changed.value.format);
  if (!bytes.ok) return fault(`${bytes.message}: ${path}`);
  if (bytes.value.length > EDIT_BYTES_MAX) {
    return fault(
      `The file would have ${sizeOf(bytes.value.length)}; at most ${sizeOf(EDIT_BYTES_MAX)}`,
    );
  }
  const change: FileChange = {
    path,
    before: current.kind === 'text' ? current.text : undefined,
    after: changed.value.text,
    isNew: !before,
    isSame: before?.bytes.equals(bytes.value) === true,
  };
  if (change.isSame) return done(change);
  const { signal } = context;
  const written = await writeAtomically({ target: realPath, bytes: bytes.value, before, signal });
  if (!written.ok) return written;
  const fingerprint = fingerprintOf(written.value, hashOf(bytes.value));
  fileStateOf(context.state).noteWritten(realPath, path, fingerprint);
  return done(change);
};

interface Found {
  readonly current: CurrentContent;
  readonly before: { readonly stats: BigIntStats; readonly bytes: Buffer } | undefined;
}

/** What is there, if the model has seen it as it is. */
const currentOf = async (
  context: ToolContext,
  path: string,
  realPath: string,
): Promise<Outcome<Found>> => {
  const opened = await openRegular(realPath);
  if (!opened.ok) {
    return opened.isMissing ? done({ current: { kind: 'absent' }, before: undefined }) : opened;
  }
  const { handle, stats } = opened.value;
  try {
    const seen = fileStateOf(context.state).seen(realPath);
    if (!seen) return fault(`Read the file before you change it: ${path}`);
    const whole = await readWhole(handle, EDIT_BYTES_MAX, path, context.signal);
    if (!whole.ok) return fault(`${whole.message}. Change it with a program through Bash`);
    const bytes = whole.value;
    if (!isSameContent(seen.fingerprint, fingerprintOf(stats, hashOf(bytes)))) {
      return fault(
        `The file has changed since you read it. Read it again, then change it: ${path}`,
      );
    }
    const media = mediaKindOf(bytes.subarray(0, SNIFF_BYTES));
    if (media.kind !== 'text') {
      const what = media.kind === 'binary' ? media.what : media.kind;
      return done({ current: { kind: 'binary', what }, before: { stats, bytes } });
    }
    const decoded = decodeText(bytes);
    if (!decoded.ok) return fault(`${decoded.message}: ${path}`);
    return done({ current: { kind: 'text', ...decoded.value }, before: { stats, bytes } });
  } finally {
    await handle.close();
  }
};
