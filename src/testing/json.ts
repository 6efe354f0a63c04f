/** JSON that nobody has checked yet, read without trusting it. */

export type JsonObject = Readonly<Record<string, unknown>>;

/** A plain object, not an array and not null. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects of an array; what is no array, and what in it is no object, counts as absent. */
export const recordsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
