/** How much fits, and from where on something is done about it. Pure; all numbers are tokens. */

export interface WindowNumbers {
  /** What the model takes, prompt and answer together. */
  readonly window: number;
  /** Kept free for the answer, and for a summary when the window is full. */
  readonly reserve: number;
  /** What a prompt may use. */
  readonly effective: number;
  /** Above this a summary is made. */
  readonly autocompact: number;
  /** Above this nothing is sent. */
  readonly blocking: number;
  /** The most that stays word for word beside a summary, but for the last round. */
  readonly kept: number;
}

/** A summary of a long session needs about 6,000 tokens; three times that never cuts one. */
const RESERVE_MAX = 20_000;
/** One more round of usual size must fit between the threshold and the end of the window. */
const AUTOCOMPACT_ROOM_MAX = 13_000;
/** An estimate may be wrong by so much near the end of a window. */
const BLOCKING_ROOM_MAX = 3_000;
/** The newest work stays as it is, but a summary must be worth its price. */
const KEPT_MAX = 20_000;

/**
 * The numbers of a window. Each part is also bounded by a share of the window, so that small
 * windows (8,000, 16,000) keep most of it for work.
 * @param outputMax the most that the model can answer.
 */
export const windows = (window: number, outputMax: number): WindowNumbers => {
  const whole = Math.max(0, Math.floor(window));
  const reserve = Math.floor(Math.min(outputMax, RESERVE_MAX, whole / 4));
  const effective = whole - reserve;
  return {
    window: whole,
    reserve,
    effective,
    autocompact: effective - Math.floor(Math.min(AUTOCOMPACT_ROOM_MAX, effective / 8)),
    blocking: effective - Math.floor(Math.min(BLOCKING_ROOM_MAX, whole / 50)),
    kept: Math.floor(Math.min(KEPT_MAX, effective / 4)),
  };
};
