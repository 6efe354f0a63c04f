/**
 * THE CHART: one query of an agent, from its prompt to its one ending.
 *
 * Left: what happened. Right: where we go, and why. The words on the right are made in `edges.ts`:
 *   next(reason)   another iteration, what was said stands    end(reason)  the end
 *   retry(reason)  another one, what was said is taken back   fail(who)    the end, our own fault
 *   ask(service)   a question, whose answer is heard as an event
 * Every iteration begins at the gate `preprocess.entering`; every cycle spends what only a turn
 * refills; every wait has a deadline or the tag `awaitingPerson`. No clock, no dice, no I/O.
 */
import { setup } from 'xstate';
import { actions } from './actions.ts';
import { ask, end, fail, flawIs, live, next, retry, rung, stage, warn, withhold } from './edges.ts';
import type { QueryEvent, QueryOutput } from './events.ts';
import { guards } from './guards.ts';
import { delays } from './limits.ts';
import { services } from './ports.ts';
import { begin, type QueryInput, type QueryResult, type QueryState, resultOf } from './state.ts';

const query = setup({
  types: {} as {
    context: QueryState; events: QueryEvent; emitted: QueryOutput; input: QueryInput;
    output: QueryResult; tags: 'recovering' | 'awaitingPerson';
  },
  actors: services, guards, actions, delays,
});

// failures that the chart finds itself, and cures like any other
const late = { target: 'failed', actions: withhold('timeout', 'no answer in time') } as const;
const full = { target: 'failed', actions: withhold('protocol', 'too many blocks') } as const;

export const queryMachine = query.createMachine({
  id: 'query', initial: 'preprocess', options: { maxIterations: 50 },
  context: ({ input }) => begin(input), output: ({ context }) => resultOf(context),
  entry: 'startClock', // no plain `after`: the clock stands still while a person is asked
  invoke: [ // here, not below: calls run while the model still streams
    live('tools', 'toolExecutor', fail('toolExecutor')),
    live('describer', 'roundDescriber', { actions: warn('a round could not be described') }),
  ],
  on: {
    abort: [{ guard: 'toolsHandedOver', ...end('aborted_tools') }, end('aborted_streaming')],
    'time.ranOut': end('deadline_exceeded'),
    'round.described': { actions: 'tellDescription' },
  },
  states: {
    preprocess: {
      initial: 'entering',
      states: {
        entering: { always: [ // the gate: these bound every cycle of the chart
          { guard: 'turnsUsedUp', ...end('max_turns', 'tellMaxTurns') },
          { guard: 'goesInCircles', ...end('no_progress') },
          { guard: 'budgetSpent', target: 'overBudget' },
          { target: 'toolResultBudget', actions: 'announce' },
        ] },
        toolResultBudget: stage('toolResultBudget', 'snip'), // lightest first
        snip: stage('snip', 'microcompact'),
        microcompact: stage('microcompact', 'collapse'),
        collapse: stage('collapse', 'autocompact'),
        autocompact: { // nothing is summarised for a summary
          always: { guard: 'isErrand', target: 'legalize' },
          ...stage('autocompact', 'legalize', 'summaryMs'),
        },
        legalize: { ...stage('legalize', 'limits'), after: { stageMs: fail('legalize', 'late') } },
        limits: { always: [
          { guard: 'refillsTooFast', ...end('rapid_refill_breaker') },
          { guard: 'overflows', target: '#query.recovery', actions: withhold('blocking_limit') },
          { guard: 'nothingLeftToPay', target: 'overBudget' },
          { target: '#query.sampling' },
        ] },
        overBudget: { always: end('budget_exhausted') },
      },
    },
    sampling: { // one invocation is one request
      entry: 'dial', initial: 'requesting',
      invoke: live('model', 'callModel', fail('callModel')),
      states: {
        requesting: { after: { requestMs: late }, on: {
          'stream.opened': { target: 'streaming' },
          'request.failed': { target: 'failed', actions: 'noteFailure' },
        } },
        streaming: { after: { streamMs: late }, on: {
          'stream.message': [{ guard: 'isFull', ...full }, { actions: 'record' }],
          'stream.toolUse': [{ guard: 'isFull', ...full }, { actions: ['record', 'feedTools'] }],
          'tool.result': { guard: 'answersOpenToolUse', actions: 'record' },
          'person.asked': { guard: 'mayStopTheClock', actions: 'noteQuestion' },
          'person.answered': { guard: 'answersQuestion', actions: 'noteAnswer' },
          'stream.ended': { target: 'ended', actions: 'noteEnd' },
          'request.failed': { target: 'failed', actions: 'noteFailure' },
        } },
        failed: { entry: 'hangUp', always: [ // from here on the error is withheld
          { guard: 'wasOverBudget', target: '#query.preprocess.overBudget' }, // refused unsent
          { guard: 'saidSomething', target: 'ended' }, // died after a complete block: that is kept
          { guard: 'mayFallBack', target: 'switchingModel' },
          { guard: 'fitsWithLowerCap', target: '#query.sampling', actions: 'lowerCap' },
          { guard: 'mayTryAgain', target: 'backingOff', actions: ['retract', 'countRetry'] },
          { target: '#query.recovery' },
        ] },
        backingOff: { after: { backoffMs: { target: '#query.sampling' } } },
        switchingModel: { // to another window and another price: the limits are looked at again
          entry: 'retract', invoke: ask('switchModel'),
          on: { 'model.switched': { target: '#query.preprocess.limits', actions: 'useFallback' } },
          after: { switchMs: fail('switchModel', 'late') },
        },
        ended: { entry: 'tellSampled', always: [
          { guard: flawIs('refusal'), target: '#query.recovery' }, // it does not stand by its calls
          { guard: 'toolsHandedOver', target: '#query.toolRun' },
          { guard: 'isFlawed', target: '#query.recovery' },
          { guard: 'isPaused', ...next('pause_turn_continuation') },
          { target: '#query.stopHooks' },
        ] },
      },
    },
    toolRun: {
      entry: 'drainTools', initial: 'draining',
      on: { // each of these begins the deadline of `draining` anew
        'tool.result': { guard: 'answersOpenToolUse', target: '.draining', actions: 'record' },
        'person.asked': { guard: 'mayStopTheClock', target: '.draining', actions: 'noteQuestion' },
        'person.answered': { guard: 'answersQuestion', target: '.draining', actions: 'noteAnswer' },
      },
      states: {
        draining: {
          always: { guard: 'personIsAsked', target: 'asking' },
          on: {
            'tools.drained': { target: 'attaching' },
            'tools.stopped': end('hook_stopped'),
            'tools.deferred': end('tool_deferred'),
          },
          after: { toolsMs: { target: 'attaching', actions: 'discardTools' } },
        },
        asking: { tags: 'awaitingPerson' }, // the only wait without a deadline
        attaching: {
          entry: 'answerOverdue', invoke: ask('attachments'),
          on: { 'attachments.ready': { target: 'answered', actions: 'attach' } },
          after: { attachMs: { target: 'answered' } },
        },
        answered: { always: [
          { guard: 'isFlawed', target: '#query.recovery' }, // whole calls have run; now what cut it
          { guard: 'triedSchema', target: '#query.stopHooks' },
          next('next_turn', 'describeRound'),
        ] },
      },
    },
    recovery: {
      tags: 'recovering', initial: 'ladder',
      states: {
        ladder: { always: [ // the first rung that holds; each is spent when it is tried
          { guard: 'canStripMedia', target: 'stripping' },
          { guard: 'canDrain', target: 'draining' },
          { guard: 'canCompact', target: 'compacting' },
          { guard: 'canEscalate', ...retry('max_output_tokens_escalate') },
          { guard: 'canResumeOutput', ...next('max_output_tokens_recovery') },
          { guard: 'canResumeStream', ...next('stream_resume') },
          { guard: 'canAskForToolUse', ...retry('malformed_tool_use_retry') },
          { guard: 'canAskForOutput', ...retry('empty_output_retry') },
          { target: 'exhausted' },
        ] },
        stripping: { ...rung('stripMedia', 'hasAttemptedMediaStrip'), on: {
          'media.stripped': retry('media_strip_retry'),
          'media.absent': { target: 'ladder' },
        } },
        draining: { ...rung('drainCollapses', 'hasAttemptedCollapseDrain', 'drainMs'), on: {
          'collapse.drained': retry('collapse_drain_retry'),
          'collapse.empty': { target: 'ladder' },
        } },
        compacting: { ...rung('reactiveCompact', 'hasAttemptedReactiveCompact', 'summaryMs'), on: {
          'compact.done': retry('reactive_compact_retry'),
          'compact.failed': { target: 'ladder', actions: 'noteCompactFailure' },
        } },
        exhausted: { always: [ // what was withheld is shown, and is the reason
          { guard: flawIs('blocking_limit'), ...end('blocking_limit') },
          { guard: 'mediaIsToBlame', ...end('image_error') },
          { guard: flawIs('prompt_too_long', 'request_too_large'), ...end('prompt_too_long') },
          { guard: flawIs('max_output_tokens'), ...end('max_output_tokens') },
          { guard: flawIs('malformed_tool_use'), ...end('malformed_tool_use_exhausted') },
          { guard: flawIs('empty_output'), ...end('empty_output_exhausted') },
          { guard: flawIs('refusal'), ...end('refusal') },
          { guard: 'apiAnswered', ...end('api_error') },
          end('model_error'),
        ] },
      },
    },
    stopHooks: {
      initial: 'structuredOutput',
      states: {
        structuredOutput: { always: [ // a wrong shape is no answer yet: the hooks are not asked
          { guard: 'schemaSatisfied', target: 'evaluating' },
          { guard: 'schemaTriesLeft', ...next('structured_output_retry') },
          end('structured_output_retry_exhausted'),
        ] },
        evaluating: { invoke: ask('stopHooks'), after: { hooksMs: fail('stopHooks', 'late') },
          always: { guard: 'isErrand', target: 'satisfied' }, // nobody objects to our own errands
          on: {
            'hooks.prevented': end('stop_hook_prevented'),
            'hooks.blocked': [
              { guard: 'blocksLeft', ...next('stop_hook_blocking') },
              { target: 'satisfied', actions: 'reportOverride' },
            ],
            'hooks.passed': { target: 'tokenBudget' },
          },
        },
        tokenBudget: { always: [
          { guard: 'tokenBudgetHasRoom', ...next('token_budget_continuation', 'tellBudget') },
          { target: 'satisfied', actions: 'tellBudget' },
        ] },
        satisfied: { always: end('completed') },
      },
    },
    terminal: { type: 'final' }, // why: on the edge that led here, and in `output.reason`
  },
});
