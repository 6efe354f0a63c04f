/**
 * `docs/options.md`: a row for each option of `query()`, from its type and the comment above it. An
 * option whose comment does not say what it means, or what its default is, is an error.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { ignoredOptions, refusedOptions } from '../../src/check-options.ts';

const source = fileURLToPath(new URL('../../src/option-types.ts', import.meta.url));

interface Row {
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
  readonly byDefault: string;
}

/** The document as it should be. */
export function optionsDoc(): string {
  const rows = rowsOf(readFileSync(source, 'utf8')).map(
    ({ name, type, byDefault, meaning }) => `| \`${name}\` | ${type} | ${byDefault} | ${meaning} |`,
  );
  const refused = Object.entries(refusedOptions).map(
    ([name, words]) => `| \`${name}\` | ${words} |`,
  );
  return `# Options

Made from [src/option-types.ts](../src/option-types.ts) by \`npm run generate\`: not to be edited here.

All are options of \`query({ prompt, options })\` and of \`engineFromOptions(options, environment)\`. Names that the official Agent SDK has mean the same here. They are checked before anything is read, begun or paid for: a mistake is a \`UsageError\` that names the option, the value and what is expected. An option that is \`undefined\` was not given; \`null\` is a mistake, and so is a name that is not in this document.

| option | type | default | meaning |
| --- | --- | --- | --- |
${rows.join('\n')}

## Options of the official SDK that are refused

They guard or lead something that is done otherwise here.

| option | instead |
| --- | --- |
${refused.join('\n')}

## Options of the official SDK that change nothing

The first turn tells which of them were given: ${ignoredOptions.map((name) => `\`${name}\``).join(', ')}.
`;
}

/** @throws when an option has no comment, or one without a default. */
export function rowsOf(text: string): readonly Row[] {
  const file = ts.createSourceFile('option-types.ts', text, ts.ScriptTarget.ES2023, true);
  const options = file.statements.find(
    (one) => ts.isInterfaceDeclaration(one) && one.name.text === 'Options',
  );
  if (!options || !ts.isInterfaceDeclaration(options)) throw new Error('there is no Options');
  return options.members.filter(ts.isPropertySignature).map((member) => {
    const name = member.name.getText(file);
    const [comment] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc);
    const words = (ts.getTextOfJSDocComment(comment?.comment) ?? '').replace(/\s+/g, ' ').trim();
    const [meaning, byDefault] = words.split(/\s*Default: /);
    if (!meaning) throw new Error(`option ${name}: its comment does not say what it means`);
    if (!byDefault) throw new Error(`option ${name}: its comment does not say "Default: …"`);
    return {
      name,
      type: code(typeOf(member.type?.getText(file) ?? 'unknown')),
      meaning: cell(meaning),
      byDefault: cell(byDefault.replace(/\.$/, '')),
    };
  });
}

/** As one line, without what TypeScript says for its own sake. */
const typeOf = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/\breadonly /g, '')
    .replace(/Readonly<(Record<[^{}]*>)>/g, '$1')
    .replace(/^\| /, '')
    .replace(/,? \)/g, ')')
    .replace(/\( /g, '(');

const cell = (text: string): string => text.replaceAll('|', '\\|');
const code = (text: string): string => `\`${cell(text)}\``;
