/**
 * Kills of the CLI at random moments. 15 in CI; more with `npm run crash -- --kills 100 --seed 1`.
 * When a moment falls is decided by the machine, too: a seed repeats the plan, not the microsecond.
 */
import { expect, it } from 'vitest';
import { diceOf } from '../../src/testing/dice.ts';
import { kinds, runTrial, type TrialReport } from './trial.ts';

const kills = Number(process.env.CRASH_KILLS ?? 15);
const seed = Number(process.env.CRASH_SEED ?? 1);
/** Two at once: while one waits for a tool the other starts. */
const BESIDE = 2;
const TRIAL_MS = 90_000;

it(
  `${kills} kills, seed ${seed}: nothing shown is lost, nothing done is done again`,
  async () => {
    const reports: TrialReport[] = [];
    let done = 0;
    let next = 0;
    const work = async () => {
      while (done < kills) {
        const number = next;
        next += 1;
        const kind = kinds[number % kinds.length] ?? 'tool';
        const report = await runTrial(kind, diceOf(seed * 1_000_003 + number));
        reports.push(report);
        done += report.kills.filter((kill) => kill !== 'ended first').length;
        if (process.env.CRASH_KILLS && (report.problems.length > 0 || number % 10 === 9)) {
          console.log(`trial ${number} ${kind} [${report.kills.join(', ')}]`, ...report.problems);
        }
      }
    };
    await Promise.all(Array.from({ length: BESIDE }, work));
    if (process.env.CRASH_KILLS) {
      const summaries = reports.filter(({ isCompacted }) => isCompacted).length;
      console.log(`${done} kills in ${reports.length} sessions, ${summaries} with a summary`);
    }
    expect(reports.filter(({ problems }) => problems.length > 0)).toEqual([]);
  },
  TRIAL_MS + kills * 20_000,
);
