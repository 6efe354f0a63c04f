/** `@path` in an instruction file stands for the file that it names. */
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { headAndTail } from '../tools/text/head-and-tail.ts';
import { IMPORT_DEPTH_MAX, IMPORTS_MAX, MEMORY_CHARS_MAX } from './limits.ts';
import { type InstructionFile, readInstruction } from './read-instruction.ts';

/** Code, and links in angle brackets, are quoted and import nothing. */
const quoted = /(^|\n)(`{3,}|~{3,})[\s\S]*?(\n\2|$)|`[^`\n]*`/g;
/** Not the `@` of an address, a scope in a path or a decorator call. */
const mention = /(?<=^|[\s(])@((?:~\/|\.{0,2}\/)?[\w.-][\w./-]*)/gm;

/** The paths that a text imports, in order, each once. Pure. */
export function importsIn(text: string): readonly string[] {
  const spoken = text.replace(quoted, (code) => ' '.repeat(code.length));
  return [
    ...new Set([...spoken.matchAll(mention)].map(([, path = '']) => path.replace(/[.]+$/, ''))),
  ];
}

export interface ImportRules {
  /** Imports must lie in here (a real path). Absent: the user's own file, which may name any. */
  readonly within?: string;
  /** What `~` stands for. */
  readonly userHome: string;
}

/** Real paths that were read before, by whomever. */
export type Known = Pick<Set<string>, 'has'> & { add(path: string): unknown };

/**
 * A file and after it the files that it imports, each once, as sections that say where they come
 * from. A path that leads nowhere is a word with an `@`, and stays one.
 * @param known real paths that were read before; grows.
 */
export async function withImports(
  path: string,
  rules: ImportRules,
  known: Known,
): Promise<string | undefined> {
  const file = await readInstruction(path, rules.within);
  if (!file || known.has(file.realPath) || file.text.trim() === '') return undefined;
  known.add(file.realPath);
  const left = { lookups: IMPORTS_MAX };
  const sections = [section(path, file), ...(await imported(file, { rules, known, left }, 1))];
  return headAndTail(sections.join('\n\n'), MEMORY_CHARS_MAX);
}

const section = (path: string, { text }: InstructionFile): string =>
  `From ${path}:\n${text.trim()}`;

interface Importing {
  readonly rules: ImportRules;
  readonly known: Known;
  /** Of the whole file: circles of thousands of words would hold up the start. */
  readonly left: { lookups: number };
}

async function imported(
  file: InstructionFile,
  importing: Importing,
  depth: number,
): Promise<readonly string[]> {
  const { rules, known, left } = importing;
  if (depth > IMPORT_DEPTH_MAX) return [];
  const sections: string[] = [];
  for (const mentioned of importsIn(file.text)) {
    if (left.lookups <= 0) break;
    left.lookups -= 1;
    const path = placeOf(mentioned, dirname(file.realPath), rules);
    const found = await readInstruction(path, rules.within);
    if (!found || known.has(found.realPath)) continue;
    known.add(found.realPath);
    sections.push(section(found.realPath, found));
    sections.push(...(await imported(found, importing, depth + 1)));
  }
  return sections;
}

function placeOf(path: string, folder: string, { userHome }: ImportRules): string {
  if (path.startsWith('~/')) return join(userHome, path.slice(2));
  return isAbsolute(path) ? path : resolve(folder, path);
}
