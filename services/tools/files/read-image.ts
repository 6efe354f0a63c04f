import { failed } from '../define-tool.ts';
import type { ToolOutput } from '../tool.ts';
import { fingerprintOf, hashOf } from './file-state.ts';
import { IMAGE_BYTES_MAX, tooLarge, whyNoImage } from './image.ts';
import type { ImageType } from './media-kind.ts';
import { type OpenFile, readWhole } from './open-regular.ts';
import { type ReadRequest, unchanged } from './read-request.ts';

/** The image as a block, or why the API would refuse it. */
export const readImage = async (
  file: OpenFile,
  mediaType: ImageType,
  request: ReadRequest,
): Promise<ToolOutput> => {
  const { path, realPath, state, context } = request;
  if (Number(file.stats.size) > IMAGE_BYTES_MAX) {
    return failed(`${tooLarge(Number(file.stats.size))}: ${path}`);
  }
  const whole = await readWhole(file.handle, IMAGE_BYTES_MAX, path, context.signal);
  if (!whole.ok) return failed(whole.message);
  const why = whyNoImage(whole.value, mediaType);
  if (why !== undefined) return failed(`${why}: ${path}`);
  const fingerprint = fingerprintOf(file.stats, hashOf(whole.value));
  const earlier = unchanged(request, fingerprint, 'image');
  if (earlier) return earlier;
  state.noteShown({ realPath, path, fingerprint }, 'image', context.toolUseId);
  return {
    content: [
      {
        type: 'image',
        source: { type: 'base64', media_type: mediaType, data: whole.value.toString('base64') },
      },
    ],
    data: {
      type: 'image',
      file: { filePath: path, type: mediaType, originalSize: whole.value.length },
    },
  };
};
