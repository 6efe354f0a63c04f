/**
 * The session on disk: JSON lines in the shape that viewers of Claude Code transcripts read, a
 * linked list by `uuid` and `parentUuid`. One write for each record, so that a line is whole or
 * not there.
 */
import { closeSync, fdatasync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { LogMessage } from '../messages.ts';
import type { Usage } from '../model/types.ts';

const SCHEMA = 1;
const sync = promisify(fdatasync);

/** `$ESCAPEMENT_HOME/projects/<cwd>/<session>.jsonl` */
export const transcriptPath = (home: string, cwd: string, sessionId: string): string =>
  join(home, 'projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'), `${sessionId}.jsonl`);

export interface Transcript {
  readonly path: string;
  /** Whole and in the file (not yet on the platter) when it returns. */
  record(message: LogMessage, usage?: Usage): void;
  /** Anything that is no message: a tombstone, an event of the chart, totals. */
  note(type: string, fields: Readonly<Record<string, unknown>>): void;
  /** On the platter. */
  commit(): Promise<void>;
  close(): void;
}

export interface TranscriptOptions {
  readonly path: string;
  readonly sessionId: string;
  readonly cwd: string;
  readonly version: string;
  readonly now: () => Date;
}

/** Nothing is written: `persistSession: false`. */
export const noTranscript = (path: string): Transcript => ({
  path,
  record: () => {},
  note: () => {},
  commit: () => Promise.resolve(),
  close: () => {},
});

/** The file is made with the first record. @throws when it cannot be written: the turn ends. */
export function openTranscript(options: TranscriptOptions): Transcript {
  const { path, sessionId, cwd, version, now } = options;
  let fd: number | undefined;
  let parentUuid: string | null = null;
  const write = (line: Record<string, unknown>): void => {
    if (fd === undefined) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      fd = openSync(path, 'a', 0o600);
      writeSync(fd, `${JSON.stringify({ type: 'escapement', schema: SCHEMA, sessionId, version })}\n`);
    }
    writeSync(fd, `${JSON.stringify(line)}\n`);
  };
  return {
    path,
    record(message, usage) {
      const { uuid, role } = message;
      const api =
        role === 'assistant'
          ? { id: message.apiId ?? uuid, type: 'message', role, model: message.model, usage }
          : { role };
      write({
        parentUuid,
        isSidechain: message.parentToolUseId !== undefined,
        type: role,
        uuid,
        sessionId,
        cwd,
        version,
        timestamp: message.timestamp,
        origin: message.origin,
        kind: message.kind,
        ...(message.isMeta ? { isMeta: true } : {}),
        ...(message.unreadable ? { unreadable: message.unreadable } : {}),
        ...(message.parentToolUseId ? { parentToolUseId: message.parentToolUseId } : {}),
        ...(message.toolUseResult === undefined ? {} : { toolUseResult: message.toolUseResult }),
        message: { ...api, content: message.content },
      });
      parentUuid = uuid;
    },
    note(type, fields) {
      write({ type, sessionId, timestamp: now().toISOString(), ...fields });
    },
    async commit() {
      if (fd !== undefined) await sync(fd);
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}
