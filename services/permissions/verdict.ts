/** What one look at a call has found. Several looks are joined: the strictest counts. */
export type Verdict =
  /** A deny rule. */
  | { readonly kind: 'deny'; readonly because: string }
  /** `isFirm`: an ask rule, which only a person can answer. */
  | { readonly kind: 'ask'; readonly because: string; readonly isFirm: boolean }
  /** Nothing against it, and something for it. */
  | { readonly kind: 'allow'; readonly because: string }
  /** Nothing for or against it. */
  | { readonly kind: 'silent' };

export const deny = (because: string): Verdict => ({ kind: 'deny', because });
export const ask = (because: string, isFirm = false): Verdict => ({ kind: 'ask', because, isFirm });
export const allow = (because: string): Verdict => ({ kind: 'allow', because });
export const silent: Verdict = { kind: 'silent' };

const strictness = (verdict: Verdict): number => {
  switch (verdict.kind) {
    case 'deny':
      return 4;
    case 'ask':
      return verdict.isFirm ? 3 : 2;
    case 'allow':
      return 1;
    case 'silent':
      return 0;
  }
};

/** The first of the strictest. */
export const strictest = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.reduce((one, other) => (strictness(other) > strictness(one) ? other : one), silent);
