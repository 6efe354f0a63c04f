/**
 * The JSON form of scripts, as a zod schema: what `parseScript` accepts, and the source of
 * `script.schema.json`. Heavy: import it lazily.
 */
import { z } from 'zod';
import { PURPOSES, type Script } from './script.ts';

const count = z.int().min(0);
const ms = z
  .number()
  .min(0)
  .max(2 ** 31 - 1)
  .meta({ description: 'milliseconds' });
const fields = z.record(z.string(), z.unknown());
const headers = z.record(z.string(), z.string());
const tokens = z.union([count, z.null()]);

const apiError = z
  .strictObject({ type: z.string(), message: z.string() })
  .meta({ description: "The `error` of the API's error body." });

const usage = z
  .looseObject({
    input_tokens: tokens.exactOptional(),
    output_tokens: tokens.exactOptional(),
    cache_read_input_tokens: tokens.exactOptional(),
    cache_creation_input_tokens: tokens.exactOptional(),
  })
  .meta({ description: 'Over what the server works out. null is what some gateways send.' });

const pace = {
  pieces: z.int().min(1).exactOptional().meta({ description: 'number of deltas; default 1' }),
  startDelayMs: ms.exactOptional(),
  deltaDelayMs: ms.exactOptional(),
  truncateAt: z
    .number()
    .min(0)
    .max(1)
    .exactOptional()
    .meta({ description: 'send only this part of the text or JSON' }),
  noStop: z.boolean().exactOptional().meta({ description: 'leave out content_block_stop' }),
};

const block = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), text: z.string(), ...pace }),
    z.strictObject({
      type: z.literal('thinking'),
      thinking: z.string(),
      signature: z.string().exactOptional(),
      ...pace,
    }),
    z.strictObject({ type: z.literal('redacted_thinking'), data: z.string(), ...pace }),
    z.strictObject({
      type: z.literal('tool_use'),
      name: z.string(),
      input: fields.exactOptional(),
      id: z.string().exactOptional(),
      rawJson: z.string().exactOptional().meta({ description: 'streamed in place of `input`' }),
      ...pace,
    }),
    z.strictObject({
      type: z.literal('raw'),
      start: fields,
      deltas: z.array(fields).exactOptional(),
      ...pace,
    }),
  ])
  .meta({ id: 'block' });

const place = z
  .union([
    z.enum(['headers', 'message_start', 'blocks', 'message_delta']),
    z.strictObject({ block: count, delta: z.int().min(-1).exactOptional() }),
    z.strictObject({ events: count }),
    z.strictObject({ bytes: count }),
  ])
  .meta({ id: 'position', description: 'A place in the stream. Numbers count from 0.' });

const at = { after: place, delayMs: ms.exactOptional() };

const fault = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('cut'), ...at, reset: z.boolean().exactOptional() }),
    z.strictObject({ kind: z.literal('end'), ...at }),
    z.strictObject({ kind: z.literal('error'), ...at, error: apiError.exactOptional() }),
    z.strictObject({ kind: z.literal('garbage'), ...at, line: z.string().exactOptional() }),
    z.strictObject({ kind: z.literal('stall'), ...at, pingEveryMs: ms.min(1).exactOptional() }),
    z.strictObject({
      kind: z.literal('drip'),
      ...at,
      everyMs: ms.min(1).exactOptional(),
      text: z.string().exactOptional(),
    }),
  ])
  .meta({ id: 'fault', description: 'How the stream breaks; nothing is sent after it.' });

const insert = z.strictObject({
  after: place,
  waitMs: ms.exactOptional(),
  event: z.strictObject({ type: z.string(), data: fields.exactOptional() }).exactOptional(),
  raw: z.string().exactOptional(),
});

const condition = z
  .strictObject({
    purpose: z.enum(PURPOSES).exactOptional(),
    n: count
      .exactOptional()
      .meta({ description: 'number among the requests of its purpose, from 0' }),
    model: z.string().exactOptional(),
    lastTextIncludes: z.string().exactOptional(),
    toolResultIncludes: z.string().exactOptional(),
    firstTextIncludes: z.string().exactOptional(),
    systemIncludes: z.string().exactOptional(),
  })
  .meta({ id: 'condition', description: 'Which requests it is for. All that is named must hold.' });

const use = {
  when: condition.exactOptional(),
  times: z
    .union([z.int().min(1), z.literal('always')])
    .exactOptional()
    .meta({ description: 'how many requests it answers; default 1' }),
};

const errorReply = z.strictObject({
  kind: z.literal('error'),
  status: z.int().min(400).max(599),
  error: apiError,
  headers: headers.exactOptional(),
  delayMs: ms.exactOptional(),
  ...use,
});
const cutReply = z.strictObject({ kind: z.literal('cut'), delayMs: ms.exactOptional(), ...use });
const silentReply = z.strictObject({ kind: z.literal('silent'), ...use });
const rawReply = z.strictObject({
  kind: z.literal('raw'),
  status: z.int().min(200).max(599),
  headers: headers.exactOptional(),
  body: z.string(),
  delayMs: ms.exactOptional(),
  ...use,
});
const messageReply = z.strictObject({
  kind: z.literal('message'),
  content: z.array(block),
  stopReason: z.string().exactOptional(),
  stopDetails: fields.exactOptional(),
  model: z.string().exactOptional(),
  id: z.string().exactOptional(),
  usage: usage.exactOptional(),
  startUsage: usage.nullable().exactOptional(),
  finalUsage: usage.nullable().exactOptional(),
  headers: headers.exactOptional(),
  headersDelayMs: ms.exactOptional(),
  firstEventDelayMs: ms.exactOptional(),
  stopDelayMs: ms.exactOptional(),
  deltaDelayMs: ms.exactOptional(),
  pings: count.exactOptional(),
  inserts: z.array(insert).exactOptional(),
  omit: z.array(z.enum(['message_start', 'message_delta', 'message_stop'])).exactOptional(),
  fault: fault.exactOptional(),
  ...use,
});

const step = z
  .union([
    z.string().meta({ description: 'Short for a message with one text block.' }),
    z.discriminatedUnion('kind', [messageReply, errorReply, cutReply, silentReply, rawReply]),
  ])
  .meta({
    id: 'step',
    description: 'One reply. A request takes the first that is not used up and whose `when` holds.',
  });

const countReply = z.discriminatedUnion('kind', [errorReply, cutReply, silentReply, rawReply]);

/** A script in JSON. */
export const scriptSchema = z
  .strictObject({
    $schema: z.string().exactOptional(),
    name: z.string().exactOptional(),
    description: z.string().exactOptional(),
    replies: z.array(step).exactOptional().meta({ description: 'For requests of the loop.' }),
    whenExhausted: step
      .exactOptional()
      .meta({ description: 'For the loop when no reply is left.' }),
    compactions: z
      .array(step)
      .exactOptional()
      .meta({ description: 'Summaries; the last repeats.' }),
    collapses: z
      .array(step)
      .exactOptional()
      .meta({ description: 'Staged parts; the last repeats.' }),
    toolSummaries: z.array(step).exactOptional().meta({ description: 'The last repeats.' }),
    hookAgents: z.array(step).exactOptional().meta({ description: 'The last repeats.' }),
    countTokens: z.union([count, countReply]).exactOptional(),
    strict: z
      .boolean()
      .exactOptional()
      .meta({ description: 'Refuse what the API would; default true.' }),
    window: z.int().min(1).exactOptional().meta({ description: 'Tokens of context.' }),
    cacheableTokensMin: count.exactOptional(),
    contextEditing: z
      .enum(['refuse', 'ignore'])
      .exactOptional()
      .meta({ description: 'A server that edits no contexts.' }),
    imagesMax: count.exactOptional(),
  })
  .meta({ title: 'A script of the scripted Messages API server' });

/**
 * What the schema lets through is a script. No cast: the compiler holds the two to each other, and
 * `$schema`, which only editors read, falls away.
 */
export function asScript({ $schema: _editor, ...script }: z.infer<typeof scriptSchema>): Script {
  return script;
}
