/**
 * Context collapse in a session: where its summaries are asked for and paid, where the originals
 * are kept at hand, and what else of the session has to know when the model sees them no more.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { askFold, foldTokensOf } from '../services/collapse/ask-fold.ts';
import {
  type Commit,
  type ContextCollapse,
  createCollapse,
  namesOf,
} from '../services/collapse/collapse.ts';
import { foldedText } from '../services/collapse/fold-prompt.ts';
import type { Collapse } from '../services/collapse/record.ts';
import { renderRounds } from '../services/collapse/render.ts';
import type { Segment } from '../services/collapse/segments.ts';
import { makeFolder } from '../services/make-folder.ts';
import { forgetToldIn } from '../services/memory/nested-memory.ts';
import { modelFacts } from '../services/model/model-table.ts';
import { callsOf } from '../services/preprocess/rounds.ts';
import { windows } from '../services/preprocess/windows.ts';
import { fileStateOf } from '../services/tools/files/index.ts';
import { windowsOf } from './context-services.ts';
import { noteCollapsed } from './request-maker.ts';
import type { Session } from './session.ts';
import type { SessionServices } from './session-services.ts';
import { noteOf, smallModel } from './small-model.ts';

/** What is kept of its tokens, a summary must free at least as much again. */
const SUMMARY_SHARE_MAX = 0.5;

const known = new WeakMap<SessionServices, ContextCollapse>();

/** The same for all queries of a session. */
export function contextCollapse(session: Session, services: SessionServices): ContextCollapse {
  const made = known.get(services) ?? collapseOf(session, services);
  known.set(services, made);
  return made;
}

function collapseOf(session: Session, services: SessionServices): ContextCollapse {
  const { log, tokens: counter, transcript, collapses } = session;
  const windowOf = windowsOf(session);
  const small = smallModel(session, services.callModel);
  return createCollapse({
    ...{ log, counter, collapses, tell: services.tell, beside: services.beside },
    numbersOf: (model) => {
      const { windowTokens, outputTokensMax } = windowOf(model);
      return windows(windowTokens, outputTokensMax);
    },
    ask: ({ model: main }, segment, signal) => {
      const { contextWindowTokens: windowTokens } = modelFacts(small.nameBeside(main));
      return askFold({ segment, main, windowTokens, signal }, small);
    },
    mayPay: ({ model }, segment) => small.mayPay(model, foldTokensOf(segment)),
    fold: (segment, summary) => fold(session, segment, summary),
    onStaged: (collapse) => transcript.note('collapse-staged', { ...collapse }, 'beside'),
    onCommitted: (commit) => noteCommit(session, commit),
  });
}

/** `undefined`: the summary is too long to be worth it. */
async function fold(
  session: Session,
  { messages, tokens }: Segment,
  summary: string,
): Promise<Collapse | undefined> {
  if (session.tokens.estimateText(summary) > tokens * SUMMARY_SHARE_MAX) return undefined;
  const id = session.uuid();
  // As they were said: a stage may have shortened them since.
  const uuids = namesOf(messages);
  const originals = uuids.map((uuid) =>
    session.log.has(uuid) ? session.log.get(uuid) : undefined,
  );
  const isComplete = originals.every((message) => message !== undefined);
  const path = await keep(session, renderRounds(isComplete ? originals : messages));
  const message = noteOf(session, id, 'summary', foldedText(summary, messages, path));
  return { id, uuids, message, tokens };
}

/** A file that only this user can read. Without it the model does without. */
async function keep({ folder, config }: Session, text: string): Promise<string | undefined> {
  if (config.persistSession === false) return undefined;
  const path = join(folder, `collapsed-${randomUUID()}.txt`);
  try {
    makeFolder(folder, 0o700);
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return path;
  } catch {
    return undefined;
  }
}

/** Files and instructions that were read in these rounds are not in sight any more. */
function noteCommit(session: Session, { history, places }: Commit): void {
  const { log } = session;
  const fresh = places.filter(({ collapse }) => !collapse.isCommitted);
  if (fresh.length > 0) {
    const ids = fresh.map(({ collapse }) => collapse.id);
    session.transcript.note('collapse-committed', { ids }, 'beside');
  }
  const uuids = places.flatMap(({ collapse }) => collapse.uuids);
  const calls = uuids.flatMap((uuid) => (log.has(uuid) ? callsOf(log.get(uuid)) : []));
  fileStateOf(session.toolState).forgetShown(new Set(calls.map(({ id }) => id)));
  forgetToldIn(session.loadedNestedMemoryPaths, uuids);
  noteCollapsed(session, history, places);
}
