/** What is appended to a round beside its results, and what looks for it ahead of time. */

import type { Beside } from '../services/attachments/ahead.ts';
import type { AttachmentSource } from '../services/attachments/attachments.ts';
import { createChangedFiles } from '../services/attachments/changed-files.ts';
import { createTodoReminder } from '../services/attachments/todo-reminder.ts';
import { createNestedMemory } from '../services/memory/nested-memory.ts';
import { createReadGuard } from '../services/permissions/read-guard.ts';
import type { Tell } from '../services/preprocess/stage.ts';
import { createSkillDiscovery } from '../services/skills/discover-skills.ts';
import { userHomeOf } from './home-folders.ts';
import { ownFolder } from './own-folder.ts';
import type { Session } from './session.ts';

export interface AttachmentSources {
  /** By name, for the warning when one is too slow. */
  readonly sources: Readonly<Record<string, AttachmentSource>>;
  /** Called as early as the work may have come to a new place. */
  readonly prefetch: () => void;
}

/** One set for each history that grows. */
export function attachmentSources(session: Session, beside: Beside, tell: Tell): AttachmentSources {
  const { config, toolState, uuid, now } = session;
  const base = { toolState, uuid, now, beside, tell };
  const own = {
    'the look for changed files': createChangedFiles(base),
    'the reminder of the todo list': createTodoReminder(base),
  };
  if (!config.readsNested) return { sources: own, prefetch: () => {} };
  const userHome = userHomeOf(config.env);
  const skills = createSkillDiscovery({
    ...base,
    root: config.cwd,
    skills: config.skills ?? [],
    hasTool: [...config.tools, ...(config.skillTool ? [config.skillTool] : [])].some(
      ({ name }) => name === 'Skill',
    ),
    discovered: session.discoveredSkillNames,
  });
  const memory = createNestedMemory({
    ...{ ...base, userHome, root: config.cwd },
    loaded: session.loadedNestedMemoryPaths,
    mayRead: async (path) => {
      const { toolPermissionContext: context } = config.getAppState();
      const guard = createReadGuard(context, config.cwd, {
        ...{ home: userHome, root: config.cwd, own: ownFolder(config.home) },
      });
      return (await guard?.(path)) ?? true;
    },
  });
  return {
    sources: { ...own, 'nested instructions': memory.source, 'nested skills': skills.source },
    prefetch: () => {
      memory.prefetch();
      skills.prefetch();
    },
  };
}
