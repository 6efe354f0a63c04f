/** How do I use another client (Bedrock, a gateway, a fake)? */
import { type ModelClient, query } from 'escapement';

/** Anything with `messages.create` that streams the API's events. It must not retry by itself. */
export async function throughMyClient(client: ModelClient, prompt: string): Promise<void> {
  for await (const message of query({ prompt, options: { client, model: 'my-model' } })) {
    if (message.type === 'result') console.log(message.result, message.total_cost_usd);
  }
}
