/** What a host learns from `initialize`: what it can choose from. */
import type { Command } from '../config.ts';
import type { Options } from '../options.ts';
import { VERSION } from '../version.ts';
import type { Fields } from './control.ts';

/** Commands as the official SDK hands them to its users. */
export const slashCommandsOf = (commands: readonly Command[]): readonly Fields[] =>
  commands.map(({ name, description, argumentHint = '' }) => ({ name, description, argumentHint }));

/** Commands, models, agents and account in the shapes that the official SDK hands to its users. */
export async function initializeAnswer(
  commands: readonly Command[],
  agents: NonNullable<Options['agents']>,
  environment: Readonly<Record<string, string | undefined>>,
  confirmations: Readonly<Record<string, boolean>>,
): Promise<Fields> {
  const { defaultModel, smallModel } = await import('../../services/model/model-table.ts');
  return {
    commands: slashCommandsOf(commands),
    agents: Object.entries(agents).map(([name, { description, model }]) => ({
      name,
      description,
      ...(model !== undefined && { model }),
    })),
    output_style: 'default',
    available_output_styles: ['default'],
    models: [
      { value: 'default', resolvedModel: defaultModel(), displayName: 'Default' },
      { value: smallModel(), displayName: 'Small' },
    ].map((model) => ({ ...model, description: model.resolvedModel ?? model.value })),
    account: { apiKeySource: environment.ANTHROPIC_API_KEY ? 'ANTHROPIC_API_KEY' : 'none' },
    claude_code_version: VERSION,
    pid: process.pid,
    pending_permission_requests: [],
    ...confirmations,
  };
}
