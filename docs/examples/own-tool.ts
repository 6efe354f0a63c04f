/** How do I give the model a tool of mine? */
import { query, type Tool } from 'escapement';

const weather: Tool = {
  name: 'Weather',
  description: 'The weather in a city, now.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  maxResultSizeChars: 10_000,
  parse: (input) =>
    typeof input === 'object' && input !== null && 'city' in input
      ? { ok: true, input: { city: String(input.city) } }
      : { ok: false, message: 'the parameter city is missing' },
  isConcurrencySafe: () => true,
  isReadOnly: () => true,
  touches: () => ({ kind: 'nothing' }),
  deadlineMs: () => 10_000,
  gist: (input) => String(input.city),
  call: async (input, { signal }) => {
    const url = `https://example.org/weather?city=${encodeURIComponent(String(input.city))}`;
    const answer = await fetch(url, { signal });
    return answer.ok
      ? { content: await answer.text() }
      : { content: `the service answered ${answer.status}`, isError: true };
  },
};

export async function withWeather(prompt: string): Promise<void> {
  const connection = {
    name: 'weather',
    status: 'connected' as const,
    tools: [weather],
    close: async () => {},
  };
  for await (const message of query({ prompt, options: { mcpClients: [connection] } })) {
    if (message.type === 'result') console.log(message.result);
  }
}
