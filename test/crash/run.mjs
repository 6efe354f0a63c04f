#!/usr/bin/env node
/** `npm run crash -- --kills N --seed S`: the crash test with more kills than CI has time for. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
});
const env = { ...process.env, CRASH_KILLS: values.kills, CRASH_SEED: values.seed };
const args = ['vitest', 'run', 'test/crash', '--disable-console-intercept'];
process.exitCode = spawnSync('npx', args, { env, stdio: 'inherit' }).status ?? 1;
