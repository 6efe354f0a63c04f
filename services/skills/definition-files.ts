/** Files in which people define something for the model: skills, commands, agents. */
import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { DEFINITIONS_MAX } from '../memory/limits.ts';
import { readInstruction } from '../memory/read-instruction.ts';
import { type FrontMatter, parseFrontMatter } from './front-matter.ts';

/** A folder with definitions, and how far it is trusted. */
export interface DefinitionFolder {
  readonly path: string;
  /** Links must not lead out of here. Absent: the user's own folder. */
  readonly within?: string;
  /** Stands before each name: a plugin's. */
  readonly prefix?: string;
}

export interface DefinitionFile extends FrontMatter {
  readonly path: string;
  /** From the folder, without `.md`, parts joined by `:`. */
  readonly name: string;
}

/** Folders within folders, as commands are grouped. */
const DEPTH_MAX = 4;

/** All `.md` files below a folder, by name. Nothing when there is no such folder. */
export async function definitionFiles(
  folder: DefinitionFolder,
): Promise<readonly DefinitionFile[]> {
  const paths = await markdownBelow(folder.path, DEPTH_MAX);
  const files = await Promise.all(
    paths.slice(0, DEFINITIONS_MAX).map(async (path) => {
      const file = await readInstruction(path, folder.within);
      if (!file) return [];
      const parts = relative(folder.path, path).replace(/\.md$/, '').split(sep);
      const name = [...(folder.prefix === undefined ? [] : [folder.prefix]), ...parts].join(':');
      return [{ path, name, ...(await parseFrontMatter(file.text)) }];
    }),
  );
  return files.flat();
}

async function markdownBelow(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sorted = [...entries].sort((a, b) => (a.name < b.name ? -1 : 1));
  const found = await Promise.all(
    sorted.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return depth > 1 ? markdownBelow(path, depth - 1) : [];
      return entry.name.endsWith('.md') ? [path] : [];
    }),
  );
  return found.flat();
}
