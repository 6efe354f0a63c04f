/** `docs/prompt.md`: the words with which a model begins, as the code has them. */
import { createHash } from 'node:crypto';
import { builtInAgents } from '../../services/agents/agent-definition.ts';
import { builtInTools } from '../../services/tools/built-in.ts';
import { DEFAULT_PROMPT, PROMPT_VERSION } from '../../src/system-prompt.ts';

/** The default prompt and all descriptions of built-in tools, as a model gets them. */
export const promptTexts = (): readonly string[] => [
  DEFAULT_PROMPT,
  ...builtInTools().map(({ description }) => description),
];

/** What all of it costs in bytes, and a fingerprint by which two versions are told apart. */
export function promptFacts() {
  const text = promptTexts().join('\n');
  return {
    version: PROMPT_VERSION,
    bytes: Buffer.byteLength(text),
    fingerprint: createHash('sha256').update(text).digest('hex').slice(0, 16),
  };
}

/** The document. */
export function promptDoc(): string {
  const { version, bytes, fingerprint } = promptFacts();
  return `# The prompt

Made by \`npm run generate\` from the code; a change of a word is a change of this file.
Version ${version}, ${bytes} bytes with the descriptions of the tools, fingerprint \`${fingerprint}\`.

## Where it stands in a request

1. **system**, block 1: the default prompt below, or \`systemPrompt\` (a text) in its place.
2. **system**, block 2: \`appendSystemPrompt\`, or \`systemPrompt: { type: 'preset', append }\`.
3. **system**, block 3: the state of the repository when the session began (not with a prompt of your own).
4. **first user message**, first block: working folder, platform, date, model, instructions (\`docs/memory.md\`).

All of it is built once for a session, so that every request begins with the same bytes. What changes
later (files, todos, instructions of a part of the project) is appended to a round.

## The default prompt

\`\`\`text
${DEFAULT_PROMPT}
\`\`\`

## Tools

${builtInTools()
  .map(({ name, description }) => `- **${name}**: ${description.replaceAll('\n', '\n  ')}`)
  .join('\n')}

## Agents that are always there

${builtInAgents.map(({ name, prompt }) => `### ${name}\n\n\`\`\`text\n${prompt}\n\`\`\``).join('\n\n')}
`;
}
