/** The head of a definition in Markdown: YAML between two lines of `---`. */

export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after it. */
  readonly body: string;
}

const head = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n|$)/;

/**
 * Without a head there are no fields. A head that is no YAML is read line by line, for people write
 * `description: Use when: …`.
 */
export async function parseFrontMatter(text: string): Promise<FrontMatter> {
  const found = head.exec(text);
  if (!found) return { fields: {}, body: text.trim() };
  const [whole, yaml = ''] = found;
  return { fields: await fieldsOf(yaml), body: text.slice(whole.length).trim() };
}

async function fieldsOf(text: string): Promise<FrontMatter['fields']> {
  const { parse } = await import('yaml');
  try {
    // No anchors that refer to each other (a bomb), no tags that make more than plain values.
    const fields: unknown = parse(text, { schema: 'core', maxAliasCount: 0, logLevel: 'error' });
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) {
      return fields as FrontMatter['fields'];
    }
  } catch {
    // read line by line below
  }
  return Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name, value = ''] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

/** A field that should be a text. */
export const textField = ({ fields }: FrontMatter, name: string): string | undefined => {
  const value = fields[name];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
};

/** A field with several names, as a YAML list or with commas: `Read, Bash(git log:*)`. */
export const listField = ({ fields }: FrontMatter, name: string): readonly string[] | undefined => {
  const value = fields[name];
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string');
  if (typeof value !== 'string') return undefined;
  // Commas in parentheses belong to a rule.
  return [...value.matchAll(/[^\s,(]+(?:\([^)]*\))?/g)].map(([one]) => one);
};
