/**
 * `docs/cases.md`: each known bug of agents that a test stands against, by its id, and the tests that
 * name it. Made from the tests, so that a case that loses its test is seen in the difference.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What each kind is about, in the order of the page. */
const kinds = {
  PAIR: 'calls and their results',
  CONT: 'what may be sent',
  LIM: 'limits of the output, reasons to stop',
  CMP: 'windows and summaries',
  RTY: 'errors, overload, retries, fallback',
  TOOL: 'execution of calls',
  FILE: 'files, searches, pictures, PDFs',
  BASH: 'the shell',
  PERM: 'permissions and settings',
  HOOK: 'hooks',
  TRN: 'transcripts and resumed sessions',
  MCP: 'servers of tools',
  HEAD: 'the executable, hosts, signals',
  USE: 'usage and cost',
  MACH: 'the chart and who looks on',
} as const;

const idPattern = new RegExp(`\\b(?:${Object.keys(kinds).join('|')})-\\d{2}\\b`, 'g');

/** Files of tests that name each id. */
function filesById(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const file of readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })) {
    if (!/\.(ts|mjs)$/.test(file) || /^tools[\\/]|node_modules/.test(file)) continue;
    const path = relative(root, join(root, 'test', file)).replaceAll('\\', '/');
    for (const [id] of readFileSync(join(root, path), 'utf8').matchAll(idPattern)) {
      found.set(id, (found.get(id) ?? new Set()).add(path));
    }
  }
  return new Map([...found].map(([id, files]) => [id, [...files].sort()]));
}

export function casesDoc(): string {
  const byId = filesById();
  const sections = Object.entries(kinds).map(([kind, about]) => {
    const ids = [...byId.keys()].filter((id) => id.startsWith(`${kind}-`)).sort();
    const lines = ids.map((id) => {
      const links = (byId.get(id) ?? []).map((path) => `[${path.slice(5)}](../${path})`);
      return `- **${id}**: ${links.join(', ')}`;
    });
    return `## ${kind}: ${about}\n\n${lines.join('\n')}`;
  });
  const intro =
    'Made by `npm run generate`. Bugs that agents and their libraries were reported to have, and the tests that name each: `grep -rn MCP-06 test` finds the places.';
  return `# Known bugs of agents, and the tests against them\n\n${intro}\n\n${sections.join('\n\n')}\n`;
}
