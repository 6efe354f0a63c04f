/** A message on its way to the host. */
import type { LogMessage } from '../services/messages.ts';
import type { QueryScope } from './query-scope.ts';
import { messageToWire } from './to-wire.ts';

/** In the journal before the host sees it: what was shown survives a crash. */
export function show(message: LogMessage, scope: QueryScope): void {
  scope.session.transcript.record(message);
  scope.turn.show(message.uuid);
  const wire = messageToWire(message, scope.session.id);
  if (wire.type === 'user') {
    scope.queue.push(wire);
    return;
  }
  const supersedes = scope.turn.takeSuperseded();
  scope.queue.push(supersedes.length > 0 ? { ...wire, supersedes } : wire);
}
