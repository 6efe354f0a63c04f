import type { ToolContext, ToolOutput } from '../tool.ts';
import type { FileState, Fingerprint } from './file-state.ts';

/** What one Read is asked for, of a file that has been opened. */
export interface ReadRequest {
  readonly path: string;
  readonly realPath: string;
  readonly first: number;
  readonly count: number;
  readonly pages: string | undefined;
  readonly context: ToolContext;
  readonly state: FileState;
}

/** The short answer for what the model has before its eyes. Asked once more, it gets it all. */
export const unchanged = (
  { state, realPath, path }: ReadRequest,
  fingerprint: Fingerprint,
  range: string,
): ToolOutput | undefined => {
  const shownBy = state.shownBy(realPath, fingerprint, range);
  if (shownBy === undefined) return undefined;
  state.forgetRange(realPath, range);
  return {
    content:
      `[Unchanged since it was read by call ${shownBy}: that result still holds. ` +
      'If you can not see it any more, read again.]',
    data: { type: 'file_unchanged', file: { filePath: path } },
  };
};
