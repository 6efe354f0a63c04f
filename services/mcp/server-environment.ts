/** What a server that is somebody else's program gets to see of our environment. */
import { markVariable } from '../tools/process/marks.ts';

/**
 * Enough to find programs, folders and the network; no keys. What a server needs beyond this its
 * configuration names.
 */
const inherited: ReadonlySet<string> = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'LANG', 'LANGUAGE'],
  ...['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_RUNTIME_DIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // So that a session inside of a shell of another one is found by both.
  markVariable,
]);

/** The configured variables win. A shell function in a variable (`() { …`) is no value. */
export const serverEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        (inherited.has(entry[0]) || entry[0].startsWith('LC_')) &&
        entry[1] !== undefined &&
        !entry[1].startsWith('()'),
    ),
  ),
  ...configured,
});
