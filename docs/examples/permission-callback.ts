/** How do I decide about tool calls myself? */
import { type CanUseTool, query } from 'escapement';

/** Asked only for what rules and mode leave open. The words of a denial go to the model. */
const askMe: CanUseTool = async (toolName, input) => {
  if (toolName === 'Bash' && String(input.command).includes('push')) {
    return { behavior: 'deny', message: 'Pushing is done by a person. Stop before it.' };
  }
  return { behavior: 'allow', updatedInput: input };
};

export async function guarded(prompt: string): Promise<void> {
  const messages = query({
    prompt,
    options: { permissionMode: 'default', allowedTools: ['Bash(npm test:*)'], canUseTool: askMe },
  });
  for await (const message of messages) {
    if (message.type === 'result') console.log(message.permission_denials);
  }
}
