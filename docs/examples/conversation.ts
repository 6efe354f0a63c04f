/** How do I hold a conversation, and steer it while it works? */
import { engineFromOptions } from 'escapement';

export async function conversation(prompts: readonly string[]): Promise<void> {
  const engine = await engineFromOptions({ permissionMode: 'acceptEdits' }, process.env);
  try {
    for (const prompt of prompts) {
      for await (const message of engine.submitMessage(prompt)) {
        // Folded in with the next tool results; what no turn takes is in `engine.takeQueued()`.
        if (message.type === 'assistant') engine.enqueue('Keep the public API as it is.');
        if (message.type === 'result') console.log(message.terminal_reason);
      }
    }
  } finally {
    await engine.close();
  }
}
