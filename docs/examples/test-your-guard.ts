/** How do I test a guard and a hook of mine, with all that can go wrong around them? */
import {
  type CanUseTool,
  configFromOptions,
  type HookCallback,
  QueryEngine,
  type Tool,
} from 'escapement';
import {
  callTool,
  checkInvariants,
  coverTransitions,
  expectReasons,
  fakeClock,
  faults,
  message,
  overloaded,
  recordSession,
  type Step,
  say,
  scriptedModel,
  type TestPath,
  text,
} from 'escapement/testing';
import { assign, setup } from 'xstate';

// ── what is tested: nobody pushes, and nobody is done before the tests have passed ──

export const guard: CanUseTool = async (_toolName, input) =>
  String(input.command).includes('git push')
    ? { behavior: 'deny', message: 'Pushing is done by a person.' }
    : { behavior: 'allow' };

const hookFor = (work: Work): HookCallback => {
  return async () =>
    work.testsPassed ? {} : { decision: 'block', reason: 'The tests have not passed yet.' };
};

// ── what can happen, as a machine: each event is something that the model or the network does ──

const world = setup({
  types: {} as {
    context: { passed: boolean; failures: number; blocks: number };
    events: { type: 'pushes' | 'passes' | 'fails' | 'stops' | 'is overloaded' | 'is cut' };
  },
  guards: {
    passed: ({ context }) => context.passed,
    mayFail: ({ context }) => context.failures < 2,
    mayBlock: ({ context }) => context.blocks < 2,
  },
  actions: {
    pass: assign({ passed: true }),
    fail: assign({ passed: false }),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    countBlock: assign({ blocks: ({ context }) => context.blocks + 1 }),
  },
}).createMachine({
  id: 'world',
  context: { passed: false, failures: 0, blocks: 0 },
  initial: 'fresh',
  states: {
    fresh: { on: { pushes: 'working', passes: { target: 'working', actions: 'pass' } } },
    working: {
      on: {
        passes: { actions: 'pass' },
        fails: { actions: 'fail' },
        'is overloaded': { guard: 'mayFail', actions: 'countFailure' },
        'is cut': { guard: 'mayFail', actions: 'countFailure' },
        stops: [
          { guard: 'passed', target: 'done' },
          { guard: 'mayBlock', actions: 'countBlock' },
        ],
      },
    },
    done: { type: 'final' },
  },
});

const names = ['pushes', 'passes', 'fails', 'stops', 'is overloaded', 'is cut'] as const;
type Happening = (typeof names)[number];

/** Few, short paths that together take every transition of that world. */
export function paths(): readonly TestPath[] {
  const events = Object.fromEntries(names.map((type) => [type, { type }]));
  const { paths: found, unreachable } = coverTransitions(world, {}, { events });
  if (unreachable.length > 0) throw new Error(`cannot happen: ${unreachable.join(', ')}`);
  return found;
}

const happeningsOf = ({ steps }: TestPath): readonly Happening[] =>
  steps.map(({ event }) => event.type as Happening);

/** What the model, or the network, does then. */
const replies: Readonly<Record<Happening, () => Step>> = {
  pushes: () => callTool('Shell', { command: 'git push' }),
  passes: () => callTool('Shell', { command: 'npm test', passes: true }),
  fails: () => callTool('Shell', { command: 'npm test', passes: false }),
  stops: () => say('Done.'),
  'is overloaded': () => overloaded(),
  'is cut': () =>
    message([text('half of an ans')], { fault: { kind: 'cut', after: { block: 0, delta: 0 } } }),
};

/** Why the engine goes on or ends then. An overload or a cut is tried again inside a request. */
function reasonsFor(happenings: readonly Happening[]): readonly string[] {
  let passed = false;
  return happenings.flatMap((happening) => {
    if (happening === 'passes' || happening === 'fails') passed = happening === 'passes';
    if (happening === 'stops') return [passed ? 'completed' : 'stop_hook_blocking'];
    return happening.startsWith('is ') ? [] : ['next_turn'];
  });
}

// ── the real engine, without network and without waiting ──

interface Work {
  readonly ran: string[];
  testsPassed: boolean;
}

const shellFor = (work: Work): Tool => ({
  name: 'Shell',
  description: 'Runs a command.',
  inputSchema: { type: 'object' },
  maxResultSizeChars: 10_000,
  parse: (input) => ({ ok: true, input: input as Record<string, unknown> }),
  isConcurrencySafe: () => false,
  isReadOnly: () => false,
  touches: () => ({ kind: 'unknown' }), // so that the guard is asked
  deadlineMs: () => 1_000,
  gist: ({ command }) => String(command),
  call: async ({ command, passes }) => {
    work.ran.push(String(command));
    work.testsPassed = passes === true;
    return { content: passes ? 'all tests pass' : 'a test fails' };
  },
});

/** One path through the engine. Throws when it is not as it should be. @param folder to work in. */
export async function walk(path: TestPath, folder: string, seed?: number): Promise<void> {
  const happenings = happeningsOf(path);
  const script = happenings.map((happening) => replies[happening]());
  const model = scriptedModel({
    // The same path with failures from a seed in it must come to the same end.
    replies: seed === undefined ? script : faults(seed).among(script),
  });
  const work: Work = { ran: [], testsPassed: false };
  const clock = fakeClock({ skipBelowMs: 10_000 }); // backoffs take no time
  const options = {
    ...{ cwd: folder, client: model, canUseTool: guard, settingSources: [], persistSession: false },
    model: 'claude-sonnet-4-5',
    hooks: { Stop: [{ hooks: [hookFor(work)] }] },
  };
  const config = await configFromOptions(options, { ESCAPEMENT_HOME: folder });
  const engine = new QueryEngine({ ...config, tools: [shellFor(work)], deps: clock.deps });
  const session = recordSession(engine, model);
  await session.prompt('release it');
  expectReasons(session.messages, reasonsFor(happenings));
  // A cut may overtake what the server told last, so the bill is not compared.
  checkInvariants(session.facts(), { except: ['usage'] });
  if (work.ran.includes('git push')) throw new Error('it was pushed');
  await engine.close();
  model.close();
}
