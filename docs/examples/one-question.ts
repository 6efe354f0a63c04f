/** How do I ask one thing and get the answer? */
import { query } from 'escapement';

export async function oneQuestion(prompt: string): Promise<string> {
  for await (const message of query({
    prompt,
    options: { permissionMode: 'plan', maxTurns: 20 },
  })) {
    if (message.type !== 'result') continue;
    if (message.is_error)
      throw new Error(`${message.terminal_reason}: ${message.errors.join('; ')}`);
    return message.result;
  }
  throw new Error('a query always ends with a result');
}
