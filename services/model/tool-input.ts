/**
 * What a model sent as the input of a call. Strict: the SDK repairs a cut input silently, so that
 * a cut Edit or Bash looks whole; here a call is either exactly what the model sent or not run.
 */
import { isRecord } from '../is-record.ts';
import { jsonFault } from '../json-fault.ts';
import type { ToolInput } from '../tools/tool.ts';
import { deepWellFormed } from '../well-formed.ts';

export type ReadInput =
  | { readonly ok: true; readonly input: ToolInput }
  /** `detail`: one line for the model and for people. */
  | { readonly ok: false; readonly detail: string };

/** Of an error message that quotes the input. */
const DETAIL_CHARS_MAX = 200;

/** With U+FFFD in its place a file would be written that nobody has meant. */
const HALF_A_CHARACTER =
  'the input has half of a character (one \\ud800…\\udfff escape without its partner)';

/** Reads an input. A tool without parameters is called with an empty string, which means `{}`. */
export function readToolInput(json: string): ReadInput {
  if (json.trim() === '') return { ok: true, input: {} };
  try {
    const value: unknown = JSON.parse(json);
    if (isRecord(value)) {
      const isWhole = deepWellFormed(value) === value;
      return isWhole ? { ok: true, input: value } : { ok: false, detail: HALF_A_CHARACTER };
    }
    return { ok: false, detail: `the input is ${nameOf(value)}, not a JSON object` };
  } catch (error) {
    const fault = deepWellFormed(jsonFault(error).slice(0, DETAIL_CHARS_MAX));
    const isValid = error instanceof RangeError;
    return { ok: false, detail: `the input is ${isValid ? '' : 'no valid JSON: '}${fault}` };
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}
