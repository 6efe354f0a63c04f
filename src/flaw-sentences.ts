/** What was wrong with an answer, for people, where the API or a service has not said it better. */
import type { Flaw } from '../machines/state.ts';

export const flawSentences: Readonly<Record<Flaw, string>> = {
  blocking_limit:
    'The prompt does not fit the context window, and nothing could make it shorter. It was not sent.',
  prompt_too_long: 'The prompt and the answer do not fit the context window.',
  request_too_large: 'The request has more bytes than the API takes.',
  bad_image: 'The API does not take an image or document of this conversation.',
  stream_broke: 'The answer broke off again and again.',
  api: 'The API answered with an error.',
  transport: 'No whole answer came from the API.',
  max_output_tokens: 'The answer was cut at the output limit of the model, also when it went on.',
  malformed_tool_use: 'The model said that it calls a tool, and no call came.',
  empty_output: 'The model said nothing, also when it was asked again.',
  refusal: 'The model refuses to answer.',
  bug: 'Internal error of the engine.',
};
