/**
 * The parser of shell commands, loaded on first use: start-up does without it, and most sessions
 * run a command sooner or later.
 */
import type { ParsedScript, SyntaxNode } from 'unbash';

interface Parser {
  parse(source: string): ParsedScript;
  forEachChild(node: SyntaxNode, callback: (child: SyntaxNode) => void): void;
}

let parser: Parser | undefined;
let loading: Promise<void> | undefined;

/** Resolves when `shellParser` has one. Cheap after the first time. */
export function loadShellParser(): Promise<void> {
  loading ??= import('unbash').then((loaded) => {
    parser = loaded;
  });
  return loading;
}

/** `undefined` until it is loaded: whoever asks must then be in doubt. */
export const shellParser = (): Parser | undefined => parser;
