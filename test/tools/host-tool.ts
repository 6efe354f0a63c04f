/** A tool of the host, for stories that must know when a call runs and what it gives. */
import type { ContentBlock } from '../../services/messages.ts';
import type { Tool, ToolContext, ToolInput, ToolOutput } from '../../services/tools/tool.ts';

type Called = (input: ToolInput, context: ToolContext) => Promise<string> | string;

/** May run beside others; changes nothing; takes any input. A throw is an error result. */
export function hostTool(name: string, call: Called, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `The tool ${name} of a story.`,
    inputSchema: { type: 'object' },
    maxResultSizeChars: 50_000,
    parse: (input) => ({ ok: true, input: input as ToolInput }),
    isConcurrencySafe: () => true,
    isReadOnly: () => true,
    touches: () => ({ kind: 'nothing' }),
    deadlineMs: () => 30_000,
    gist: () => name,
    call: async (input, context): Promise<ToolOutput> => ({ content: await call(input, context) }),
    ...more,
  };
}

/** The smallest PNG: one pixel. */
export const pixel: ContentBlock = {
  type: 'image',
  source: {
    type: 'base64',
    media_type: 'image/png',
    data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
};
