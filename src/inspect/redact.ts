/**
 * What must not leave the process, not even to a page on the same machine. All that is sent or
 * exported goes through here as text, so that no way around it can be forgotten.
 */

/** Where a value is known to be secret by its name. Also inside of JSON that stands in a text. */
const NAMED =
  /((?:\\?"|\b)(?:authorization|proxy-authorization|x-api-key|[\w-]*api[_-]?key|[\w-]*auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|secret[_-]?access[_-]?key|password|passwd|set-cookie|cookie)\\?"\s*:\s*\\?")(?:\\\\.|[^"\\])+/gi;
/** In the way of shells and of headers: `ANTHROPIC_API_KEY=…`, `Authorization: Bearer …`. */
const ASSIGNED =
  /\b([A-Z0-9_]*(?:API_KEY|AUTH_TOKEN|ACCESS_TOKEN|SECRET|PASSWORD|PRIVATE_KEY)\s*=\s*(?:\\"|')?)[^\s"'\\,;]{6,}/g;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/g;
/** Secrets that are known by their own form. */
const FORMED =
  /\b(?:sk-(?:ant|proj|live|test)?[-_A-Za-z0-9]{16,}|gh[opusr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})/g;
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\.|[^"\\-]|-(?!----END))*-----END [A-Z ]*PRIVATE KEY-----/g;
/** One look decides whether any of the others can find something. */
const HINT =
  /authorization|api[_-]?key|token|secret|passw|cookie|bearer|basic |sk-|gh[opusr]_|github_pat|xox[abprs]-|AKIA|AIza|eyJ|PRIVATE KEY/i;

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
    if (!HINT.test(text)) return text;
    return text
      .replace(NAMED, `$1${GONE}`)
      .replace(PRIVATE_KEY, GONE)
      .replace(ASSIGNED, `$1${GONE}`)
      .replace(BEARER, `$1 ${GONE}`)
      .replace(FORMED, GONE);
  };
}

/** Values of variables whose names say that they are secret. */
export function secretsIn(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i.test(name) ? [value] : [],
  );
}

/**
 * A host's own redaction, for objects. Memoised by reference: the same part must become the same
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
