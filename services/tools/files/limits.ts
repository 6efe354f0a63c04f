/** Bounds of the file tools. A call that meets one says so and says how to go on. */
const KIB = 1024;
const MIB = KIB * KIB;

/** Lines that Read shows unless asked for another number: a normal source file. */
export const READ_LINES = 2_000;
/** Of one line: minified code says nothing to a model. */
export const READ_LINE_CHARS_MAX = 2_000;
/** Of one Read, some 30,000 tokens; its results are exempt from the budget of results. */
export const READ_CHARS_MAX = 100_000;
/** What git looks at, too, to tell text from binary. */
export const SNIFF_BYTES = 8_000;
/** Read as a whole; above, streamed: memory stays bounded whatever the file's size. */
export const WHOLE_BYTES_MAX = 16 * MIB;
/** Edited as a whole and hashed; above, Edit refuses and Read keeps no fingerprint. */
export const EDIT_BYTES_MAX = 64 * MIB;
/** One piece of a streamed file. */
export const CHUNK_BYTES = 256 * KIB;

/** The API's limit on the base64 text of an image (not on its bytes). */
export const IMAGE_BASE64_CHARS_MAX = 5_242_880;
/** The API's limit on each side of an image. */
export const IMAGE_SIDE_PIXELS_MAX = 8_000;
/** The API's limit on the pages of documents in one request. */
export const PDF_PAGES_MAX = 100;
/** As a document it rides in every later request, which may have 32 MB altogether. */
export const PDF_BYTES_MAX = 10 * MIB;
/** As text, page by page: only opened here, not sent. */
export const PDF_TEXT_BYTES_MAX = 64 * MIB;
/** Pages of one call that are read as text. */
export const PDF_TEXT_PAGES_MAX = 20;
/** A PDF is a program: what takes longer is broken or hostile. */
export const PDF_MS_MAX = 20_000;

/** Paths that Glob shows, newest first. */
export const GLOB_SHOWN_MAX = 100;
/** Paths that a walk looks at: a home folder has millions. */
export const WALK_ENTRIES_MAX = 500_000;
/** Matching paths that Glob sorts: each costs a stat. */
export const GLOB_MATCHES_MAX = 50_000;
/** After this a search answers with what it has. Below the tool's deadline. */
export const SEARCH_MS_MAX = 20_000;

/** Entries that Grep shows unless asked for another number. */
export const GREP_SHOWN = 250;
/** Of one line that Grep shows. */
export const GREP_LINE_CHARS_MAX = 500;
/** Of one Grep, notes included; below the size at which a result goes to a file. */
export const GREP_CHARS_MAX = 40_000;
/** Entries that are collected and sorted before they are cut to what is shown. */
export const GREP_COLLECTED_MAX = 20_000;
/** … and their text in UTF-16 units. */
export const GREP_COLLECTED_CHARS_MAX = 8 * MIB;
/** Lines of context around a match. */
export const GREP_CONTEXT_MAX = 100;
/** Our own search opens no larger file; ripgrep does. */
export const OWN_SEARCH_BYTES_MAX = 64 * MIB;
/** Words of ripgrep that are repeated to the model. */
export const STDERR_CHARS_MAX = 2_000;

/** A diff that takes longer is replaced by a summary. */
export const DIFF_MS_MAX = 300;
/** Lines of the file that Edit shows around a change. */
export const SNIPPET_CONTEXT_LINES = 4;
/** Of the snippet; a longer one is cut. */
export const SNIPPET_CHARS_MAX = 4_000;
/** The old content travels to the host with a diff only up to this size. */
export const ORIGINAL_CHARS_MAX = 100_000;
/** Files of which a session knows what the model has seen; the oldest are forgotten. */
export const SEEN_FILES_MAX = 1_000;
