/** How do I give the model a tool of mine? */
import { defineTool, query } from 'escapement';
import { z } from 'zod';

const weather = defineTool({
  name: 'Weather',
  description: 'The weather in a city, now.',
  input: z.object({ city: z.string().describe('its name, in English') }),
  isReadOnly: true,
  // The signal is aborted by the host, by the deadline, or when the query ends.
  run: async ({ city }, { signal }) => {
    const url = `https://example.org/weather?city=${encodeURIComponent(city)}`;
    const answer = await fetch(url, { signal });
    // A throw is shown to the model as an error, too; this says it in better words.
    return answer.ok
      ? await answer.text()
      : { content: `the service answered ${answer.status}`, isError: true };
  },
});

export async function withWeather(prompt: string): Promise<void> {
  // Every call of it asks, unless a rule says that it need not.
  const options = { customTools: [weather], allowedTools: ['Weather'] };
  for await (const message of query({ prompt, options })) {
    if (message.type === 'result') console.log(message.result);
  }
}
