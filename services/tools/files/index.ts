/** The file tools, cheap to make: what is heavy is imported when one is first called. */
import { defineTool, textOf } from '../define-tool.ts';
import { toolSchemas } from '../schemas.generated.ts';
import type { Tool, ToolInput, Touches } from '../tool.ts';
import { folderOfPattern } from './glob-folder.ts';

export { type FileState, fileStateOf, type SeenFile } from './file-state.ts';

const always = () => true;
const never = () => false;
const fileOf = (input: ToolInput): string => textOf(input, 'file_path');
const readsFile = (input: ToolInput): Touches => ({ kind: 'read', paths: [fileOf(input)] });
const editsFile = (input: ToolInput): Touches => ({ kind: 'edit', paths: [fileOf(input)] });

/** Read, Write, Edit, MultiEdit, Glob, Grep. */
export const fileTools = (): Tool[] => [
  defineTool({
    name: 'Read',
    description:
      'Shows a file: text with line numbers (the first 2,000 lines; go on with offset), images, ' +
      'PDFs. Not for folders.',
    inputSchema: toolSchemas.Read,
    // It bounds itself. A result in a file would be read by the next Read, and so on.
    maxResultSizeChars: Number.POSITIVE_INFINITY,
    isReadOnly: always,
    touches: readsFile,
    gist: fileOf,
    load: async () => (await import('./read.ts')).readTool,
  }),
  defineTool({
    name: 'Write',
    description:
      'Makes a file or replaces all of it. An existing file must have been read before. Prefer ' +
      'Edit for changes.',
    inputSchema: toolSchemas.Write,
    isReadOnly: never,
    touches: editsFile,
    gist: fileOf,
    load: async () => (await import('./write.ts')).writeTool,
  }),
  defineTool({
    name: 'Edit',
    description:
      'Replaces old_string by new_string in a file that you have read. old_string must occur ' +
      'exactly once, white space included, unless replace_all is set; leave out the line numbers.',
    inputSchema: toolSchemas.Edit,
    isReadOnly: never,
    touches: editsFile,
    gist: fileOf,
    load: async () => (await import('./edit.ts')).editTool,
  }),
  defineTool({
    name: 'MultiEdit',
    description: 'Several Edits of one file, in order; all of them are done or none.',
    inputSchema: toolSchemas.MultiEdit,
    isReadOnly: never,
    touches: editsFile,
    gist: fileOf,
    load: async () => (await import('./edit.ts')).multiEditTool,
  }),
  defineTool({
    name: 'Glob',
    description:
      'Finds files by a pattern such as src/**/*.ts, newest first. What .gitignore names is left ' +
      'out.',
    inputSchema: toolSchemas.Glob,
    isReadOnly: always,
    touches: (input) => ({
      kind: 'read',
      paths: [folderOfPattern(textOf(input, 'path') || '.', textOf(input, 'pattern'))],
    }),
    gist: (input) => textOf(input, 'pattern'),
    load: async () => (await import('./glob.ts')).globTool,
  }),
  defineTool({
    name: 'Grep',
    description:
      'Searches the contents of files with ripgrep. What .gitignore names and binary files are ' +
      'left out. Use it instead of grep in Bash.',
    inputSchema: toolSchemas.Grep,
    isReadOnly: always,
    touches: (input) => ({ kind: 'read', paths: [textOf(input, 'path') || '.'] }),
    gist: (input) => textOf(input, 'pattern'),
    load: async () => (await import('./grep.ts')).grepTool,
  }),
];
