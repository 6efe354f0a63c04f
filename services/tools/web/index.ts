/** WebFetch, cheap to make. */
import { defineTool, textOf } from '../define-tool.ts';
import { toolSchemas } from '../schemas.generated.ts';
import type { Tool } from '../tool.ts';
import type { WebAccess } from './safe-request.ts';

export type { WebAccess } from './safe-request.ts';

/** Above the bound of the fetch itself. */
const DEADLINE_MS = 45_000;

/** @param access Default: the public internet alone. */
export const webFetch = (access: WebAccess = { insideHosts: [] }): Tool =>
  defineTool({
    name: 'WebFetch',
    description: 'Fetches a public http(s) URL: HTML as Markdown, other text as it is.',
    inputSchema: toolSchemas.WebFetch,
    isReadOnly: () => true,
    touches: (input) => ({ kind: 'fetch', url: textOf(input, 'url') }),
    deadlineMs: () => DEADLINE_MS,
    gist: (input) => textOf(input, 'url'),
    load: async () => (await import('./web-fetch.ts')).webFetchTool(access),
  });
