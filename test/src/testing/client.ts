/** A client without any help: raw HTTP, so that a test sees what is on the wire. */
import { request as httpRequest } from 'node:http';

export interface WireEvent {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The whole body as far as it came. */
  readonly body: string;
  /** `clean`: the body ended as HTTP says. `broken`: the connection did. `left`: we went. */
  readonly end: 'clean' | 'broken' | 'left';
  readonly errorCode: string | undefined;
}

export interface AskOptions {
  readonly purpose?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  /** Goes away when the body so far makes this true. */
  readonly leaveWhen?: (body: string) => boolean;
}

export const BASE = { model: 'claude-test', max_tokens: 1_000, stream: true } as const;
export const user = (content: unknown) => ({ role: 'user', content });
export const assistant = (content: unknown) => ({ role: 'assistant', content });
/** A small legal request. */
export const hello = (more: Record<string, unknown> = {}) => ({
  ...BASE,
  messages: [user('hello')],
  ...more,
});

/** Posts a body; rejects only when the connection breaks before the headers. */
export function ask(url: string, body: unknown, options: AskOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let broken = reject as (error: NodeJS.ErrnoException) => void;
    const request = httpRequest(
      `${url}${options.path ?? '/v1/messages'}`,
      {
        method: 'POST',
        agent: false,
        headers: {
          'content-type': 'application/json',
          'x-api-key': 'secret-key',
          ...(options.purpose ? { 'x-escapement-purpose': options.purpose } : {}),
          ...options.headers,
        },
      },
      (response) => {
        let text = '';
        const done = (end: Answer['end'], errorCode?: string) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: text,
            end,
            errorCode,
          });
        broken = (error) => done('broken', error.code);
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          if (options.leaveWhen?.(text)) {
            done('left');
            request.destroy();
          }
        });
        response.on('end', () => done('clean'));
        response.on('error', (error: NodeJS.ErrnoException) => broken(error));
      },
    );
    request.on('error', (error) => broken(error));
    request.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
}

/** The whole SSE events of a body, in order. */
export function eventsOf(body: string): WireEvent[] {
  return body
    .split('\n\n')
    .slice(0, -1)
    .map((part) => ({
      name: /^event: (.*)$/m.exec(part)?.[1] ?? '',
      data: JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? 'null') as Record<string, unknown>,
    }));
}

export const namesOf = (body: string): string[] => eventsOf(body).map(({ name }) => name);

/** Text of all text deltas. */
export const textOf = (body: string): string =>
  eventsOf(body)
    .map(({ data }) => (data.delta as { text?: string } | undefined)?.text ?? '')
    .join('');

/** The error of an error body. */
export const errorOf = (answer: Answer) =>
  (JSON.parse(answer.body) as { error: { type: string; message: string } }).error;
