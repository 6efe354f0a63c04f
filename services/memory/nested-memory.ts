/**
 * Instructions that hold in a part of the project: they are read when the work comes there, and
 * appended, so that what was said before stays as it is.
 */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attachmentMessage } from '../attachments/attachment-message.ts';
import type { AttachmentSource } from '../attachments/attachments.ts';
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
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** For the folders below `root` that the last round has read or written files in. */
export const createNestedMemory = (deps: NestedMemoryDeps): AttachmentSource => {
  const { root, userHome, toolState, loaded, mayRead } = deps;
  return async () => {
    const texts: string[] = [];
    for (const folder of foldersOf(toolState, root)) {
      for (const name of memoryNames) {
        const path = join(folder, name);
        if (loaded.has(path) || !existsSync(path) || !(await mayRead(path))) continue;
        const text = await withImports(path, { within: root, userHome }, loaded);
        if (text !== undefined) texts.push(text);
      }
    }
    if (texts.length === 0) return [];
    const text = `Instructions for a part of the project that you work in now:\n\n${texts.join('\n\n')}`;
    return [attachmentMessage(text, deps)];
  };
};

/** Below the root, outermost first, each once. */
export function foldersOf(toolState: ToolState, root: string): readonly string[] {
  const files = fileStateOf(toolState).recent(FILES_LOOKED_AT);
  const folders = files
    .filter(({ realPath }) => isInside(realPath, root))
    .flatMap(({ realPath }) => foldersBetween(root, dirname(realPath)).slice(1));
  return [...new Set(folders)];
}
