/** Files that the model has seen and that have another content now: told once for each change. */
import { readFile, stat } from 'node:fs/promises';
import { fileStateOf, hashOf, type SeenFile } from '../tools/files/file-state.ts';
import type { ToolState } from '../tools/tool.ts';
import { attachmentMessage } from './attachment-message.ts';
import type { AttachmentSource } from './attachments.ts';

/** Looked at after each round: those that were used last. */
const FILES_LOOKED_AT = 40;
/** Named in one reminder. */
const FILES_NAMED_MAX = 20;
/** A larger file is judged by size and time alone. */
const HASHED_BYTES_MAX = 4 << 20;

export interface ChangedFilesDeps {
  readonly toolState: ToolState;
  readonly uuid: () => string;
  readonly now: () => Date;
}

/** Tools note what they write themselves, so what differs was changed by a shell or by others. */
export const createChangedFiles = (deps: ChangedFilesDeps): AttachmentSource => {
  const told = new Map<string, string>();
  return async () => {
    const seen = fileStateOf(deps.toolState).recent(FILES_LOOKED_AT);
    const changes = await Promise.all(seen.map((file) => changeOf(file)));
    const fresh = changes.filter((change) => change && told.get(change.path) !== change.version);
    const lines = fresh.flatMap((change) => {
      if (!change) return [];
      told.set(change.path, change.version);
      return [`- ${change.path}${change.version === 'gone' ? ' (is gone)' : ''}`];
    });
    if (lines.length === 0) return [];
    const more = lines.length - FILES_NAMED_MAX;
    const shown = [...lines.slice(0, FILES_NAMED_MAX), ...(more > 0 ? [`(${more} more)`] : [])];
    const text = `Changed since you saw them, not by your edits. Read them again before you rely on them:\n${shown.join('\n')}`;
    return [attachmentMessage(text, deps)];
  };
};

/** `version` tells one change from the next. */
async function changeOf({ realPath, path, fingerprint }: SeenFile) {
  try {
    const { size, mtimeNs } = await stat(realPath, { bigint: true });
    if (size === fingerprint.sizeBytes && mtimeNs === fingerprint.mtimeNs) return undefined;
    if (fingerprint.hash === undefined || size > HASHED_BYTES_MAX) {
      return { path, version: `${size}/${mtimeNs}` };
    }
    const version = hashOf(await readFile(realPath));
    return version === fingerprint.hash ? undefined : { path, version };
  } catch {
    return { path, version: 'gone' };
  }
}
