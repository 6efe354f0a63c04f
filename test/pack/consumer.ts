/** The types of both packages, as a consumer's compiler finds them. Never run. */
import { engineFromOptions, type SDKMessage } from 'escapement';
import { queryMachine } from 'escapement/machine';
import type { Script } from 'escapement/testing';
import { createV4Bridge, receiverOf } from 'escapement-xstate-inspect';

export async function watched(script: Script): Promise<SDKMessage[]> {
  const bridge = createV4Bridge({ allowSend: false });
  const engine = await engineFromOptions({}, process.env);
  engine.inspect = bridge.inspect;
  receiverOf('http://127.0.0.1/').subscribe((event) => {
    if (event.type === 'service.state') console.log(event.state.value, queryMachine.id, script);
  });
  const messages: SDKMessage[] = [];
  for await (const message of engine.submitMessage('hi')) messages.push(message);
  return messages;
}
