/** Clearing of old results by the API, as far as a session has a say in it. */
import {
  type CachedMicrocompact,
  createCachedMicrocompact,
} from '../services/preprocess/cached-microcompact.ts';
import type { Tell } from '../services/preprocess/stage.ts';
import { windows } from '../services/preprocess/windows.ts';
import { fileStateOf } from '../services/tools/files/index.ts';
import { defaultGates, type Gates } from './config.ts';
import { windowsOf } from './context-services.ts';
import type { Session } from './session.ts';

/**
 * @param tell the way to the host.
 * @param gates of the query that runs; without one those of the session count.
 */
export function cachedMicrocompact(
  session: Session,
  tell: Tell,
  gates: () => Gates | undefined,
): CachedMicrocompact {
  const { config, toolState, contextEditing: mode } = session;
  const windowOf = windowsOf(session);
  return createCachedMicrocompact({
    ...{ mode, tell },
    isWanted: () => {
      const { microcompact, cachedMicrocompact: isOpen } = gates() ?? {
        ...defaultGates,
        ...config.gates,
      };
      return microcompact && isOpen && config.model.client?.editsContexts !== false;
    },
    windowsOf: (model) => {
      const { windowTokens, outputTokensMax } = windowOf(model);
      return windows(windowTokens, outputTokensMax);
    },
    onCleared: () => fileStateOf(toolState).forgetShown(),
  });
}
