/** How do I watch the machine itself? */
import { engineFromOptions } from 'escapement';

/** Any XState 5 observer fits: it sees every event and every step of the chart. */
export async function watched(prompt: string): Promise<void> {
  const engine = await engineFromOptions({}, process.env);
  engine.inspect = (event) => {
    if (event.type === '@xstate.snapshot' && 'value' in event.snapshot) {
      console.error(JSON.stringify(event.snapshot.value));
    }
  };
  for await (const message of engine.submitMessage(prompt)) {
    if (message.type === 'result') console.log(message.result);
  }
  await engine.close();
}
