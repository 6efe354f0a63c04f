/**
 * What must not leave the process, not even to a page on the same machine. All that is sent or
 * exported goes through here as text, so that no way around it can be forgotten.
 */

/**
 * A field with a text, also of JSON that stands in a text of JSON, and so on: then its quotes have 1,
 * 3, 7 … backslashes. Everything is bounded: a search must not take longer than the text is long.
 */
const FIELD = /(\\{0,31})"([\w .-]{1,80})\1"\s{0,8}:\s{0,8}\1"/g;
/** Names whose values are secret, without what stands between their words. */
const SECRET_NAME =
  /(?:apikey|token|secret|secretkey|accesskey|privatekey|signingkey|encryptionkey|password|passwd|passphrase|authorization|cookie|credentials?)$/;
/**
 * Where a word begins. In JSON a new line is a backslash and an `n`: that `n` belongs to no word, and
 * most secrets of files stand at the begin of a line.
 */
const BEGIN = /(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))/;
const beginning = (form: RegExp): RegExp => new RegExp(BEGIN.source + form.source, form.flags);

/**
 * A form of a secret, and what must be in a text for it to be found there. Looking for where words
 * begin costs a hundred times what looking for a few letters does, and most texts have no secret.
 */
interface Form {
  readonly hint: RegExp;
  readonly form: RegExp;
}

/** Of each what comes after the first group goes. */
const NAMED: readonly Form[] = [
  {
    // in the way of shells: `DB_PASSWORD=…`
    hint: /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)\s{0,8}=/,
    form: /([A-Z0-9_]{0,80}(?:(?:API|ACCESS|AUTH|PRIVATE|SIGNING|ENCRYPTION|SECRET)_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)\s{0,8}=\s{0,8}(?:\\{0,31}"|')?)[^\s"'\\,;&]{6,16384}/g,
  },
  {
    // in the way of files and addresses: `password: …`, `?token=…`; what has no digit is a type
    hint: /(?:key|token|secret|password|passwd|passphrase)\s{0,4}[:=]/i,
    form: /([\w.-]{0,60}(?:(?:api|access|auth|private|signing|encryption|secret)[_-]?key|token|secret|password|passwd|passphrase)\s{0,4}[:=]\s{0,4}(?:\\{0,31}"|')?)(?=[^\s"'\\,;&]{0,256}\d)[^\s"'\\,;&]{6,16384}/gi,
  },
  { hint: /Bearer|Basic/, form: /((?:Bearer|Basic)\s{1,8})[A-Za-z0-9._~+/=-]{8,16384}/g },
  { hint: /cookie:/i, form: /((?:Set-)?Cookie:\s{0,8})[^"\\]{4,16384}/gi },
  {
    // netrc
    hint: /login\s/,
    form: /(login\s{1,8}[^\s"\\]{1,128}(?:\s|\\[nrt]){1,8}password\s{1,8})[^\s"\\]{1,256}/g,
  },
].map(({ hint, form }) => ({ hint, form: beginning(form) }));
/** Passwords beside a name: in an address, and as an option of curl. */
const PASSED: readonly Form[] = [
  { hint: /:\/\//, form: /(:\/\/[^\s/:@"\\]{0,256}:)[^\s/@"\\]{1,256}(?=@)/g },
  {
    hint: /-u/,
    form: /([\s"](?:-u|--user)[ =](?:\\{0,31}"|')?[^\s:"'\\]{1,128}:)[^\s"'\\]{1,256}/g,
  },
];
/** Secrets that are known by their own form. */
const FORMED: readonly Form[] = [
  { hint: /sk-/, form: /sk-(?:ant|proj|live|test)?[-_A-Za-z0-9]{16,16384}/g },
  { hint: /k_(?:live|test)_/, form: /[rs]k_(?:live|test)_[A-Za-z0-9]{10,16384}/g },
  { hint: /gh[opusr]_|npm_/, form: /(?:gh[opusr]|npm)_[A-Za-z0-9]{30,16384}/g },
  { hint: /github_pat_/, form: /github_pat_[A-Za-z0-9_]{40,16384}/g },
  { hint: /glpat-|xox/, form: /(?:glpat|xox[abprs])-[\w-]{10,16384}/g },
  { hint: /A[KS]IA/, form: /A[KS]IA[0-9A-Z]{16}/g },
  { hint: /AIza/, form: /AIza[0-9A-Za-z_-]{35}/g },
  { hint: /eyJ/, form: /(?<!-)eyJ[\w-]{10,16384}\.[\w-]{10,16384}\.[\w-]{10,16384}/g },
].map(({ hint, form }) => ({ hint, form: beginning(form) }));
/** Also one that was cut, so that its end is missing. */
const PRIVATE_KEY: Form = {
  hint: /PRIVATE KEY/,
  form: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[\w+/=:,.\s]|\\[\\nrt]|-(?!----(?:END|BEGIN))){0,65536}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
};
/** The end of a field's name that may be secret, with its quote. */
const FIELD_HINT =
  /(?:key|token|secret|password|passwd|passphrase|authorization|cookie|credentials?)[ ._-]{0,80}\\{0,31}"/i;

const GONE = '[redacted]';
/** Shorter values are words. */
const VALUE_CHARS_MIN = 8;

/** Takes secrets out of a text that is JSON: it still is JSON, with the same fields. */
export type Scrub = (json: string) => string;

/** @param secrets values that are known to be secret, of whatever form. */
export function scrubber(secrets: readonly string[] = []): Scrub {
  const forms = secrets
    .filter((value) => value.length >= VALUE_CHARS_MIN)
    .map((value) => JSON.stringify(value).slice(1, -1));
  return (json) => {
    let text = json;
    for (const form of forms) if (text.includes(form)) text = text.replaceAll(form, GONE);
    if (FIELD_HINT.test(text)) text = withoutNamed(text);
    if (PRIVATE_KEY.hint.test(text)) text = text.replace(PRIVATE_KEY.form, GONE);
    for (const { hint, form } of [...NAMED, ...PASSED]) {
      if (hint.test(text)) text = text.replace(form, `$1${GONE}`);
    }
    for (const { hint, form } of FORMED) if (hint.test(text)) text = text.replace(form, GONE);
    return text;
  };
}

/** Texts in fields whose names say that they are secret, whatever is in them. */
function withoutNamed(json: string): string {
  const kept: string[] = [];
  let from = 0;
  FIELD.lastIndex = 0;
  for (let field = FIELD.exec(json); field; field = FIELD.exec(json)) {
    const [, quoted = '', name = ''] = field;
    if (!SECRET_NAME.test(name.toLowerCase().replace(/[ ._-]/g, ''))) {
      FIELD.lastIndex -= quoted.length + 1; // its value may be the name of the next one
      continue;
    }
    const end = endOfText(json, FIELD.lastIndex, quoted.length);
    if (end > FIELD.lastIndex) kept.push(json.slice(from, FIELD.lastIndex), GONE);
    else kept.push(json.slice(from, end));
    from = end;
    FIELD.lastIndex = end;
  }
  kept.push(json.slice(from));
  return kept.join('');
}

/**
 * Where a text ends that begins at `from`: at its own quote, or, when it was cut, at that of the
 * text around it. Quotes inside of it have more backslashes.
 * @param escapes backslashes before its own quote.
 */
function endOfText(json: string, from: number, escapes: number): number {
  for (let quote = json.indexOf('"', from); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let before = 0;
    while (quote - before > from && json[quote - before - 1] === '\\') before += 1;
    if (isEnd(before, escapes)) return quote - quoteEscapes(before, escapes);
  }
  return json.length;
}

/** A backslash of the text is two of the text around it: what is left of an odd number escapes. */
function isEnd(before: number, escapes: number): boolean {
  let [left, deep] = [before, escapes];
  while (deep > 0 && left % 2 === 1) [left, deep] = [(left - 1) / 2, (deep - 1) / 2];
  return left % 2 === 0;
}

/** Backslashes that belong to the quote, and not to the text before it. */
function quoteEscapes(before: number, escapes: number): number {
  let [left, deep, own] = [before, escapes, 0];
  while (deep > 0 && left % 2 === 1) {
    [left, deep, own] = [(left - 1) / 2, (deep - 1) / 2, 2 * own + 1];
  }
  return own;
}

/** Values of variables whose names say that they are secret. */
export function secretsIn(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i.test(name) ? [value] : [],
  );
}

/** A host's redaction of a text. What is no text any more is hidden. */
export function redactedText(redact: (value: unknown) => unknown, text: string): string {
  const clean = redact(text);
  return typeof clean === 'string' ? clean : GONE;
}

/**
 * A host's own redaction, for objects and texts. Objects are memoised by reference: the same part must become the same
 * part, or a diff by reference would see everything as changed. What it throws hides the value.
 */
export function redacter(redact: ((value: unknown) => unknown) | undefined, onError: () => void) {
  if (!redact) return <T>(value: T): T => value;
  const known = new WeakMap<object, unknown>();
  return (value: unknown): unknown => {
    const isObject = typeof value === 'object' && value !== null;
    if (isObject && known.has(value)) return known.get(value);
    let clean: unknown;
    try {
      clean = redact(value);
    } catch {
      clean = GONE;
      onError();
    }
    if (isObject) known.set(value, clean);
    return clean;
  };
}
