/** Names of external tools that the API accepts, and the way back to the server's own name. */
import { createHash } from 'node:crypto';

/** The API takes 128 now and took 64 for long; gateways still do. */
const NAME_CHARS_MAX = 64;
/** So that something of the tool's own name is left. */
const SERVER_CHARS_MAX = 28;
const HASH_CHARS = 8;

/**
 * `mcp__<server>__<tool>` within `^[a-zA-Z0-9_-]{1,64}$`. Every other character becomes `_`; what
 * is too long is cut and ends in a hash of the whole. *Contract:* the same names give the same result
 * in every process, since histories and permission rules are full of them.
 */
export function externalToolName(server: string, tool: string): string {
  const name = `${externalServerPrefix(server)}${legal(tool)}`;
  return name.length <= NAME_CHARS_MAX ? name : cut(name, NAME_CHARS_MAX, `${server}\0${tool}`);
}

/** What all tools of a server begin with; the form that permission rules use. */
export const externalServerPrefix = (server: string): string => {
  const name = legal(server);
  return `mcp__${name.length <= SERVER_CHARS_MAX ? name : cut(name, SERVER_CHARS_MAX, server)}__`;
};

/** Two names of a server that would be the same for the API: the second one gets a hash. */
export const distinctName = (name: string, original: string): string =>
  cut(name, Math.min(name.length + HASH_CHARS + 1, NAME_CHARS_MAX), original);

const legal = (name: string) => name.replace(/[^a-zA-Z0-9_-]/g, '_') || '_';

const cut = (name: string, charsMax: number, original: string) =>
  `${name.slice(0, charsMax - HASH_CHARS - 1)}_${hashOf(original)}`;

const hashOf = (text: string) =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARS);
