/** What the file tools take. Heavy (zod): for the implementations and the generator only. */
import { z } from 'zod';
import { GREP_CONTEXT_MAX } from './limits.ts';

const filePath = z.string().min(1).describe('Absolute, or relative to the working folder');
const edit = {
  old_string: z.string().describe('Exact text, without line numbers; "" makes a new file'),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
};

export const readInput = z.strictObject({
  file_path: filePath,
  offset: z.int().min(0).optional().describe('First line, from 1'),
  limit: z.int().positive().optional().describe('Number of lines'),
  pages: z.string().optional().describe('Of a PDF, as text: "3" or "10-20"'),
});
export const writeInput = z.strictObject({ file_path: filePath, content: z.string() });
export const editInput = z.strictObject({ file_path: filePath, ...edit });
export const multiEditInput = z.strictObject({
  file_path: filePath,
  edits: z.array(z.strictObject(edit)).min(1),
});
export const globInput = z.strictObject({
  pattern: z.string().min(1).max(2_000).describe('e.g. src/**/*.{ts,tsx}'),
  path: z.string().optional().describe('Folder; default: the working folder'),
});
export const grepInput = z.strictObject({
  pattern: z.string().min(1).max(10_000).describe('Regular expression of ripgrep'),
  path: z.string().optional().describe('File or folder; default: the working folder'),
  glob: z.string().max(2_000).optional().describe('e.g. *.{ts,tsx}'),
  type: z.string().max(100).optional().describe('e.g. ts, py, rust'),
  output_mode: z
    .enum(['files_with_matches', 'content', 'count'])
    .optional()
    .describe('Default: files_with_matches'),
  '-i': z.boolean().optional().describe('Ignore case'),
  '-n': z.boolean().optional().describe('Line numbers; default: true'),
  '-A': z.int().min(0).max(GREP_CONTEXT_MAX).optional().describe('Lines after'),
  '-B': z.int().min(0).max(GREP_CONTEXT_MAX).optional().describe('Lines before'),
  '-C': z.int().min(0).max(GREP_CONTEXT_MAX).optional().describe('Lines around'),
  multiline: z.boolean().optional().describe('Matches may span lines; . matches line ends'),
  head_limit: z.int().min(0).optional().describe('Entries shown; default 250, 0: as many as fit'),
  offset: z.int().min(0).optional().describe('Entries skipped'),
});
