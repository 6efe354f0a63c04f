/** Bounds of what instruction files may bring into a conversation. */

/** A larger file is no instruction but an accident. */
export const INSTRUCTION_BYTES_MAX = 256 << 10;
/** Of one file with all that it imports: a tenth of a window of 200,000 tokens, and more. */
export const MEMORY_CHARS_MAX = 100_000;
/** An import of an import of …: deeper is a mistake. */
export const IMPORT_DEPTH_MAX = 5;
/** Words with an `@` that are looked up for one file and its imports: more is no instruction. */
export const IMPORTS_MAX = 200;
/** Folders between a file and the repository's root. */
export const FOLDERS_MAX = 32;
/** Files of one kind (skills, commands, agents) in one folder. */
export const DEFINITIONS_MAX = 200;
