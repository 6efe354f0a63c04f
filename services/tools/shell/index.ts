/** The shell tools of a session: Bash, BashOutput, KillShell. */
import type { Tool } from '../tool.ts';
import { lookAtShell, killShell } from './background-shell.ts';
import { type BashOptions, gistOf, runBash, timeoutOf } from './bash-tool.ts';
import { shellLimits } from './limits.ts';
