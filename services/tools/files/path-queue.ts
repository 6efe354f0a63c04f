/** Of the whole process, as files are: two sessions may edit the same one. */
const tails = new Map<string, Promise<void>>();

/**
 * Work on one file, one after the other in the order of the calls; work on other files goes on
 * beside it. A failure does not stop what waits behind it.
 * @param realPath behind all links, so that one file has one queue.
 */
export const inPathQueue = async <T>(realPath: string, work: () => Promise<T>): Promise<T> => {
  const result = (tails.get(realPath) ?? Promise.resolve()).then(work);
  const tail = result.then(
    () => undefined,
    () => undefined,
  );
  tails.set(realPath, tail);
  try {
    return await result;
  } finally {
    if (tails.get(realPath) === tail) tails.delete(realPath);
  }
};
