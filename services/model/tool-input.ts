/**
 * What a model sent as the input of a call. Strict: the SDK repairs a cut input silently, so that
 * a cut Edit or Bash looks whole; here a call is either exactly what the model sent or not run.
 */
import type { ToolInput } from '../tools/tool.ts';
import { deepWellFormed } from '../well-formed.ts';

export type ReadInput =
  | { readonly ok: true; readonly input: ToolInput }
  /** `detail`: one line for the model and for people. */
  | { readonly ok: false; readonly detail: string };

/** Of an error message that quotes the input. */
const DETAIL_CHARS_MAX = 200;

/** Reads an input. A tool without parameters is called with an empty string, which means `{}`. */
export function readToolInput(json: string): ReadInput {
  if (json.trim() === '') return { ok: true, input: {} };
  try {
    const value: unknown = JSON.parse(json);
    if (isRecord(value)) return { ok: true, input: deepWellFormed(value) };
    return { ok: false, detail: `the input is ${nameOf(value)}, not a JSON object` };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const detail = deepWellFormed(text.replaceAll(/\s+/g, ' ').slice(0, DETAIL_CHARS_MAX));
    return { ok: false, detail: `the input is no valid JSON: ${detail}` };
  }
}

/** Whether a value is a plain JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return `a ${typeof value}`;
}
