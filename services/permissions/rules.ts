/**
 * Permission rules as people write them: `Bash(npm test:*)`, `Edit(src/**)`, `mcp__server`.
 * The syntax is Claude Code's. A rule that cannot be read is reported, never dropped in silence.
 */
import { compileGlob } from '../tools/files/glob-match.ts';
import { type CommandPattern, parseCommandPattern } from './shell/command-pattern.ts';
import type { RuleSet, RuleSource, ToolPermissionContext } from './types.ts';

export type RuleKind = 'deny' | 'ask' | 'allow';

/** What a rule says about the inside of a call. */
export type RuleSpec =
  | { readonly kind: 'any' }
  | { readonly kind: 'command'; readonly pattern: CommandPattern }
  | { readonly kind: 'path'; readonly pattern: string }
  | { readonly kind: 'domain'; readonly host: string }
  /**
   * Of a tool that we know nothing of: compared with the parameters of the call, letter by
   * letter.
   */
  | { readonly kind: 'text'; readonly text: string };

export interface Rule {
  /** As written: said in every decision that it makes. */
  readonly text: string;
  readonly source: RuleSource;
  /** A name, or the beginning of one when it ends in `*`. */
  readonly tool: string;
  readonly spec: RuleSpec;
}

export interface RuleProblem {
  readonly text: string;
  readonly source: RuleSource;
  readonly kind: RuleKind;
  /** What is wrong and how to put it right. */
  readonly problem: string;
}

export type ParsedRule =
  | { readonly ok: true; readonly rule: Rule }
  | { readonly ok: false; readonly problem: string };

const fileTools = ['Read', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit', 'Glob', 'Grep', 'LS'];
const syntax = /^([A-Za-z][\w-]*\*?|\*)(?:\(([\s\S]*)\))?$/;

/** @param text as it stands in the settings. */
export function parseRule(text: string, source: RuleSource): ParsedRule {
  const trimmed = text.trim();
  const found = syntax.exec(trimmed);
  if (!found) return { ok: false, problem: remedyFor(trimmed) };
  const [, tool = '', inside] = found;
  if (tool.startsWith('mcp__') && inside !== undefined) {
    const problem = `rules for MCP tools take no parentheses: write ${tool}`;
    return { ok: false, problem };
  }
  if (tool.endsWith('*') && tool !== '*' && !tool.startsWith('mcp__')) {
    return { ok: false, problem: 'only names of MCP tools may end in *' };
  }
  const spec = specOf(tool, inside?.trim());
  return typeof spec === 'string'
    ? { ok: false, problem: spec }
    : { ok: true, rule: { text: trimmed, source, tool, spec } };
}

function specOf(tool: string, inside: string | undefined): RuleSpec | string {
  if (inside === undefined || inside === '*') return { kind: 'any' };
  if (inside === '') return `the parentheses are empty: write ${tool}, or say what is meant`;
  if (tool === 'Bash') {
    const pattern = parseCommandPattern(inside);
    return pattern ? { kind: 'command', pattern } : 'its quotes are not closed';
  }
  if (fileTools.includes(tool)) {
    const glob = compileGlob(inside);
    return glob.ok ? { kind: 'path', pattern: inside } : glob.message;
  }
  if (tool === 'WebFetch' || tool === 'WebSearch') {
    const host = /^domain:([\w.*-]+)$/.exec(inside)?.[1];
    return host
      ? { kind: 'domain', host: host.toLowerCase() }
      : 'write WebFetch(domain:example.org)';
  }
  return { kind: 'text', text: inside };
}

function remedyFor(text: string): string {
  if (text === '') return 'it is empty';
  if (text.includes('(') && !text.endsWith(')')) return 'the closing parenthesis is missing';
  if (/^[^(]*\s/.test(text)) return `a command stands in parentheses: write Bash(${text})`;
  return 'it is neither Tool nor Tool(what)';
}

/** All rules of a context, parsed. */
export interface ParsedRules {
  readonly deny: readonly Rule[];
  readonly ask: readonly Rule[];
  readonly allow: readonly Rule[];
  /**
   * Rules that could not be read. A deny or ask rule among them means that a guard is missing, so
   * the judge lets nothing through unasked that it might have been for.
   */
  readonly problems: readonly RuleProblem[];
}

const parsed = new WeakMap<readonly RuleSet[], ParsedRules>();

/** Parsed once for each list of rule sets: a context is a value and is replaced as a whole. */
export function rulesOf({ rules: sets }: Pick<ToolPermissionContext, 'rules'>): ParsedRules {
  const known = parsed.get(sets);
  if (known) return known;
  const problems: RuleProblem[] = [];
  const all = (kind: RuleKind) =>
    sets.flatMap((set) =>
      set[kind].flatMap((text) => {
        const result = parseRule(text, set.source);
        if (result.ok) return [result.rule];
        problems.push({ text, source: set.source, kind, problem: result.problem });
        return [];
      }),
    );
  const rules = { deny: all('deny'), ask: all('ask'), allow: all('allow'), problems };
  parsed.set(sets, rules);
  return rules;
}

/** A problem in words, for whoever wrote the rule. */
export const describeProblem = ({ text, source, kind, problem }: RuleProblem): string =>
  `The ${kind} rule ${JSON.stringify(text)} (${source} settings) cannot be read: ${problem}.`;

/** `mcp__server` stands for all tools of the server. */
export function namesTool(rule: Rule, toolName: string): boolean {
  const { tool } = rule;
  if (tool === toolName || tool === '*') return true;
  if (tool.endsWith('*')) return toolName.startsWith(tool.slice(0, -1));
  return tool.startsWith('mcp__') && toolName.startsWith(`${tool}__`);
}
