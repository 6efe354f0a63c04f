/**
 * Instructions that hold in a part of the project: they are looked for when the work comes there,
 * and appended, so that what was said before stays as it is.
 */

import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Beside, createAhead, sayFailures } from '../attachments/ahead.ts';
import { attachmentMessage } from '../attachments/attachment-message.ts';
import type { AttachmentSource } from '../attachments/attachments.ts';
import type { Tell } from '../preprocess/stage.ts';
import { fileStateOf } from '../tools/files/file-state.ts';
import type { ToolState } from '../tools/tool.ts';
import { withImports } from './imports.ts';
import { foldersBetween, memoryNames } from './memory-files.ts';
import { isInside } from './read-instruction.ts';

/** Of the files that were read or written last: a round does not touch more. */
const FILES_LOOKED_AT = 40;

export interface NestedMemoryDeps {
  /** The working folder that the session began in, a real path: what is above it is known. */
  readonly root: string;
  readonly userHome: string;
  readonly toolState: ToolState;
  /** Real paths that are in the conversation already; grows. */
  readonly loaded: Set<string>;
  /** Rules may hide a file from the model. */
  readonly mayRead: (path: string) => Promise<boolean>;
  readonly beside: Beside;
  /** What could not be looked at. */
  readonly tell: Tell;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** What is looked for ahead of time, and read with a round. */
export interface AheadOfTime {
  /** Begins to look, in the background, at what is new. */
  readonly prefetch: () => void;
  readonly source: AttachmentSource;
}

interface Instructions {
  readonly text: string;
  /** Real paths of the file and its imports. */
  readonly paths: readonly string[];
}

/** In which messages instructions were appended, for each set of what is loaded. */
const toldIn = new WeakMap<ReadonlySet<string>, Map<string, readonly string[]>>();

/** These messages are out of sight: what they have told is read again where it holds. */
export function forgetToldIn(loaded: Set<string>, uuids: Iterable<string>): void {
  const told = toldIn.get(loaded);
  for (const uuid of uuids) {
    for (const path of told?.get(uuid) ?? []) loaded.delete(path);
    told?.delete(uuid);
  }
}

/** For the folders below `root` that the last rounds have read or written files in. */
export function createNestedMemory(deps: NestedMemoryDeps): AheadOfTime {
  const { root, userHome, toolState, loaded, mayRead } = deps;
  const ahead = createAhead<Instructions | undefined>(deps.beside);
  /** Read, and not attached yet: nobody else reads them meanwhile. */
  const reading = new Set<string>();

  /** Files that gave nothing (empty, of another place, known by another name), as they were. */
  const barren = new Map<string, string>();
  let knownCount = 0;

  const read = async (path: string, signal: AbortSignal): Promise<Instructions | undefined> => {
    const paths: string[] = [];
    const known = {
      has: (one: string) => loaded.has(one) || reading.has(one),
      add: (one: string) => {
        paths.push(one);
        reading.add(one);
      },
    };
    const forget = () => {
      for (const one of paths) reading.delete(one);
      barren.clear(); // another name of one of these may have been passed over for it
    };
    signal.addEventListener('abort', forget, { once: true });
    try {
      const text = await withImports(path, { within: root, userHome }, known);
      return text === undefined ? undefined : { text, paths };
    } catch (error) {
      forget();
      throw error;
    } finally {
      if (signal.aborted) forget();
    }
  };
  const find = async (path: string, signal: AbortSignal): Promise<Instructions | undefined> => {
    const stamp = await stampOf(path);
    if (stamp === undefined || barren.get(path) === stamp) return undefined;
    if (!(await mayRead(path)) || signal.aborted) return undefined;
    const instructions = await read(path, signal);
    if (!instructions && !signal.aborted) barren.set(path, stamp);
    return instructions;
  };
  const prefetch = () => {
    // A summary has taken some out of the conversation: what was known by them is not any more.
    if (loaded.size < knownCount) barren.clear();
    knownCount = loaded.size;
    for (const folder of foldersOf(toolState, root)) {
      for (const name of memoryNames) {
        const path = join(folder, name);
        if (loaded.has(path) || reading.has(path)) continue;
        ahead.look(path, (signal) => find(path, signal));
      }
    }
  };

  return {
    prefetch,
    source: async (_, signal) => {
      prefetch();
      const texts: string[] = [];
      const paths: string[] = [];
      const { finds, errors } = await ahead.take(signal);
      sayFailures('nested instructions', errors, deps.tell);
      for (const { found } of finds) {
        if (!found) continue;
        for (const path of found.paths) {
          reading.delete(path);
          loaded.add(path);
          paths.push(path);
        }
        texts.push(found.text);
      }
      if (texts.length === 0) return [];
      const text = `Instructions for a part of the project that you work in now:\n\n${texts.join('\n\n')}`;
      const message = attachmentMessage(text, deps);
      const told = toldIn.get(loaded) ?? new Map<string, readonly string[]>();
      toldIn.set(loaded, told.set(message.uuid, paths));
      return [message];
    },
  };
}

/** Which file stands there, and since when it says what it says. `undefined`: none. */
async function stampOf(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch {
    return undefined;
  }
}

/** Below the root, outermost first, each once. */
export function foldersOf(toolState: ToolState, root: string): readonly string[] {
  const files = fileStateOf(toolState).recent(FILES_LOOKED_AT);
  const folders = files
    .filter(({ realPath }) => isInside(realPath, root))
    .flatMap(({ realPath }) => foldersBetween(root, dirname(realPath)).slice(1));
  return [...new Set(folders)];
}
