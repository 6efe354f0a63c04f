/** What rules and mode say about a file. */
import { guardHidden, guardHiddenGlob, protectingFolder } from './own-folder.ts';
import {
  absolute,
  allowsPath,
  globMayReach,
  guardsPath,
  isInside,
  lookAt,
  type Place,
  protectedName,
} from './paths.ts';
import type { ParsedRules, Rule } from './rules.ts';
import { allow, ask, deny, silent, strictest, type Verdict } from './verdict.ts';

export type Access = 'read' | 'edit';

export interface PathCheck {
  readonly rules: ParsedRules;
  readonly place: Place;
  /** Folders whose files may be read unasked. */
  readonly readable: readonly string[];
  /** Folders whose files may be edited unasked; none in most modes. */
  readonly editable: readonly string[];
  /** The tool that is called, for rules that name it; none inside of a shell command. */
  readonly tool?: string;
  /** A rule that allows the tool whatever it does. */
  readonly allowedByName?: Verdict;
}

/** `Read` stands for all tools that read, `Edit` for all that edit. */
const familyOf: Record<Access, string> = { read: 'Read', edit: 'Edit' };

/** Is the rule about a file that is accessed in this way? */
const isAbout = (rule: Rule, access: Access, { tool }: PathCheck) =>
  rule.spec.kind === 'path' && (rule.tool === familyOf[access] || rule.tool === tool);

const patternOf = (rule: Rule) => (rule.spec.kind === 'path' ? rule.spec.pattern : '');

/** Only what speaks against it: what the engine hides, deny rules and ask rules. */
export async function guardPath(path: string, access: Access, check: PathCheck): Promise<Verdict> {
  const { rules, place } = check;
  const hidden = await guardHidden(path, place);
  if (hidden.kind === 'deny') return hidden;
  // Who must not read a file must not find out by editing it either.
  const denies = rules.deny.filter(
    (rule) => isAbout(rule, access, check) || isAbout(rule, 'read', check),
  );
  const asks = rules.ask.filter((rule) => isAbout(rule, access, check));
  if (denies.length + asks.length === 0) return silent;
  const seen = await lookAt(path, place);
  for (const rule of denies) {
    if (await guardsPath(patternOf(rule), seen, place)) return deny(byRule('deny', rule));
  }
  for (const rule of asks) {
    if (await guardsPath(patternOf(rule), seen, place)) return ask(byRule('ask', rule), true);
  }
  return silent;
}

/** The same for a pattern that a shell will put names in the place of. */
export async function guardGlob(glob: string, access: Access, check: PathCheck): Promise<Verdict> {
  const verdicts = [await guardHiddenGlob(glob, check.place)];
  for (const rule of check.rules.deny) {
    if (!isAbout(rule, access, check) && !isAbout(rule, 'read', check)) continue;
    const reach = await globMayReach(absolute(glob, check.place), patternOf(rule), check.place);
    if (reach === 'yes') return deny(byRule('deny', rule));
    if (reach === 'maybe') verdicts.push(ask(`${glob} may reach what ${rule.text} denies`));
  }
  return strictest(verdicts);
}

/** What speaks for it: an allow rule, or its place. Otherwise somebody has to be asked. */
export async function permitPath(path: string, access: Access, check: PathCheck): Promise<Verdict> {
  const { rules, place } = check;
  const seen = await lookAt(path, place);
  const guardedBy =
    access === 'edit' ? (protectedName(seen) ?? (await protectingFolder(seen, place))) : undefined;
  for (const rule of rules.allow) {
    if (!isAbout(rule, access, check)) continue;
    // A general rule does not mean start files and settings; one that names them does.
    if (guardedBy !== undefined && !patternOf(rule).toLowerCase().includes(guardedBy)) continue;
    if (await allowsPath(patternOf(rule), seen, place)) return allow(byRule('allow', rule));
  }
  if (guardedBy !== undefined) return ask(`${path} is protected (${guardedBy})`);
  if (check.allowedByName) return check.allowedByName;
  const folders = access === 'read' ? check.readable : check.editable;
  if (await isInside(seen, folders, place))
    return allow(`${path} is inside of the working folders`);
  return ask(
    access === 'read' ? `${path} is outside of the working folders` : `it would change ${path}`,
  );
}

export const byRule = (kind: 'deny' | 'ask' | 'allow', { text, source }: Rule): string =>
  `the ${kind} rule ${text} (${source} settings)`;
