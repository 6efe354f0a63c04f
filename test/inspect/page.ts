/** A page as the server sees it: a reader of the stream, without a browser. */
import { type IncomingMessage, request } from 'node:http';
import type { Batch, ControlState, Entry, Hello } from '../../src/inspect/protocol.ts';

export interface Page {
  readonly hello: () => Promise<Hello>;
  readonly entries: Entry[];
  readonly controls: ControlState[];
  /** Entries that it was too slow for. */
  readonly lost: NonNullable<Batch['lost']>[];
  /** Reads nothing until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Of one kind. */
  readonly all: <K extends Entry['kind']>(kind: K) => Extract<Entry, { kind: K }>[];
  /** Resolves when the condition holds; looked at with each message. */
  readonly until: (is: () => boolean) => Promise<void>;
  readonly ended: Promise<void>;
  readonly close: () => void;
}

/** Opens the stream. @param lastEventId as a browser sends it when it comes back. */
export function openPage(url: string, lastEventId?: number): Page {
  const entries: Entry[] = [];
  const controls: ControlState[] = [];
  let hello: Hello | undefined;
  const lost: NonNullable<Batch['lost']>[] = [];
  let reader: IncomingMessage | undefined;
  const waiting = new Set<() => void>();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const hear = (event: string, data: string) => {
    if (event === 'hello') hello = JSON.parse(data);
    else if (event === 'control') controls.push(JSON.parse(data));
    else if (event === 'ended') end();
    else {
      const batch = JSON.parse(data) as Batch;
      if (batch.lost) lost.push(batch.lost);
      entries.push(...batch.entries);
    }
    for (const look of waiting) look();
  };
  const headers = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
  const asked = request(`${url}events`, { headers, agent: false }, (response) => {
    reader = response;
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const said of parts) {
        const event = /^event: (.*)$/m.exec(said)?.[1] ?? 'message';
        const data = /^data: (.*)$/m.exec(said)?.[1];
        if (data !== undefined) hear(event, data);
      }
    });
    response.on('error', () => {});
    response.on('close', () => end());
  });
  asked.on('error', () => end());
  asked.end();
  const until = (is: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!is()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    ...{ entries, controls, lost, until, ended },
    pause: () => void reader?.pause(),
    resume: () => void reader?.resume(),
    hello: async () => {
      await until(() => hello !== undefined);
      return hello as Hello;
    },
    all: (kind) => entries.filter((entry) => entry.kind === kind) as never,
    close: () => asked.destroy(),
  };
}
