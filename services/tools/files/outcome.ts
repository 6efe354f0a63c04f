/** An operation on a file either has a value or says in words for the model why not. */
import { messageOf } from '../../message-of.ts';
export type Outcome<T> = { readonly ok: true; readonly value: T } | Fault;
export interface Fault {
  readonly ok: false;
  /** For the model: what is wrong, and what to do. */
  readonly message: string;
  /** There is no such file. */
  readonly isMissing?: boolean;
}

export const done = <T>(value: T): Outcome<T> => ({ ok: true, value });
export const fault = (message: string): Fault => ({ ok: false, message });

/** `ENOENT` and its like; `''` for anything else that was thrown. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** A fault of the operating system on a path. */
export const fileFault = (error: unknown, path: string): Fault => ({
  ...fault(sayFileError(error, path)),
  isMissing: codeOf(error) === 'ENOENT',
});

/** What the operating system said about a path, in words that the model can act on. */
export const sayFileError = (error: unknown, path: string): string => {
  switch (codeOf(error)) {
    case 'ENOENT':
      return `File does not exist: ${path}`;
    case 'ENOTDIR':
      return `A part of this path is a file, not a folder: ${path}`;
    case 'EACCES':
    case 'EPERM':
      return `No permission for ${path}`;
    case 'ELOOP':
      return `Symbolic links go in a circle: ${path}`;
    case 'ENAMETOOLONG':
      return `The path is too long: ${path.slice(0, 200)}…`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk is full. Nothing was changed: ${path}`;
    case 'EROFS':
      return `The file system is read-only: ${path}`;
    case 'EMFILE':
    case 'ENFILE':
      return `Too many files are open; try again: ${path}`;
    case 'EAGAIN':
      return `The file has no content that can be read without waiting: ${path}`;
    case 'EISDIR':
      return `This is a folder, not a file: ${path}`;
    case 'ERR_INVALID_ARG_VALUE':
      return 'The path contains a NUL character';
    default:
      return `${path}: ${messageOf(error)}`;
  }
};
