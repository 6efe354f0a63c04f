/**
 * The bridge to @xstate/inspect, where it is installed beside this package. Looked for from here,
 * never from the folder of a project: that would run a stranger's code.
 */
import type { CreateXstateBridge } from '../inspect/start-inspector.ts';

/** Not written in the import: it is no dependency, and no bundle carries it along. */
export const BRIDGE = 'escapement-xstate-inspect';

/** @returns nothing when it is not installed. @throws what it throws when it is, and broken. */
export async function installedBridge(): Promise<CreateXstateBridge | undefined> {
  try {
    const { createV4Bridge }: { createV4Bridge: CreateXstateBridge } = await import(BRIDGE);
    return createV4Bridge;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' && message.includes(BRIDGE)) return undefined;
    throw error;
  }
}
