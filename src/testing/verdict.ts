/** What was answered, for a log that people read. */
import type { Reply } from './script.ts';

/** A reply in a few words, for people. */
export function verdictOf(reply: Reply): string {
  switch (reply.kind) {
    case 'message': {
      const blocks = reply.content.map((block) =>
        block.type === 'tool_use' ? `tool_use ${block.name}` : block.type,
      );
      const fault = reply.fault ? [`then ${reply.fault.kind}`] : [];
      return ['200', [...blocks, ...fault].join(', ') || 'nothing'].join(' ');
    }
    case 'error':
      return `${reply.status} ${reply.error.type}`;
    case 'raw':
      return `${reply.status} raw`;
    case 'cut':
      return 'cut before headers';
    case 'silent':
      return 'silence';
  }
}
