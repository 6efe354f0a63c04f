/** JSON that nobody has checked yet, read without trusting it. */
import { isRecord } from '../../services/is-record.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The objects of an array; what is no array, and what in it is no object, counts as absent. */
export const recordsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];
