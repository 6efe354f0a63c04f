import type { LogMessage } from '../messages.ts';

/** Something that nobody said and the model is to know. */
export const attachmentMessage = (
  text: string,
  { uuid, now }: { readonly uuid: () => string; readonly now: () => Date },
): LogMessage => ({
  uuid: uuid(),
  role: 'user',
  kind: 'note',
  origin: 'attachment',
  timestamp: now().toISOString(),
  isMeta: true,
  content: [{ type: 'text', text: `<system-reminder>\n${text}\n</system-reminder>` }],
});
