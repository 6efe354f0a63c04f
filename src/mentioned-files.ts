/** `@path` in a prompt: the file comes along, as the tool Read would show it. */
import { importsIn } from '../services/memory/imports.ts';
import type { ContentBlock } from '../services/messages.ts';
import type { Judge } from '../services/permissions/types.ts';
import { headAndTail } from '../services/tools/text/head-and-tail.ts';
import type { ToolContext, ToolInput } from '../services/tools/tool.ts';
import type { Session } from './session.ts';

/** More is no mention but a list: the model reads what it needs. */
const FILES_MAX = 10;
/** Of one file; the rest can be read. */
const FILE_CHARS_MAX = 50_000;

/**
 * Only what may be read unasked comes along: a prompt can be pasted from anywhere. What is no file,
 * or may not be read, stays a word with an `@`.
 * @returns blocks that follow the prompt.
 */
export async function mentionedFiles(
  text: string,
  session: Session,
  judge: Judge,
  signal: AbortSignal,
): Promise<readonly ContentBlock[]> {
  const paths = importsIn(text).slice(0, FILES_MAX);
  const read = session.tools().find(({ name }) => name === 'Read');
  if (paths.length === 0 || !read) return [];
  const blocks: ContentBlock[] = [];
  for (const file_path of paths) {
    const input: ToolInput = { file_path };
    const { toolPermissionContext } = session.config.getAppState();
    const verdict = await judge(read, input, toolPermissionContext, session.cwd);
    if (verdict.behavior !== 'allow') continue;
    const output = await read.call(input, contextFor(file_path, session, signal));
    if (output.isError) continue;
    const shown = typeof output.content === 'string' ? [textBlock(output.content)] : output.content;
    blocks.push(textBlock(`Contents of ${file_path}:`));
    for (const block of shown) {
      if (block.type === 'text') blocks.push(textBlock(headAndTail(block.text, FILE_CHARS_MAX)));
      else if (block.type === 'image' || block.type === 'document') blocks.push(block);
    }
  }
  return blocks;
}

const textBlock = (text: string) => ({ type: 'text', text }) as const;

function contextFor(path: string, session: Session, signal: AbortSignal): ToolContext {
  const { id, cwd, config, folder, toolState } = session;
  const toolUseId = `@${path}`;
  return {
    ...{ sessionId: id, toolUseId, cwd, resultsFolder: folder, signal, state: toolState },
    idempotencyKey: `${id}:${toolUseId}`,
    setCwd: () => {},
    additionalDirectories: config.getAppState().toolPermissionContext.additionalDirectories,
    env: config.env,
    progress: () => {},
  };
}
