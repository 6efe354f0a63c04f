/** The engine behind the interactive mode; `/clear` puts another one in its place. */
import type { PermissionMode } from '../../../services/permissions/types.ts';
import type { QueryEngineConfig } from '../../config.ts';
import { modelNamed } from '../../model-access.ts';
import { configFromOptions, type Options } from '../../options.ts';
import { permissionModeNamed, permissionModes } from '../../permission-modes.ts';
import { QueryEngine } from '../../query-engine.ts';
import { UsageError } from '../../usage-error.ts';
import type { SDKResultMessage } from '../../wire.ts';
import type { CliContext } from '../context.ts';

/** What a person has chosen by hand; it outlives `/clear`. */
interface Choices {
  readonly model?: string;
  readonly mode?: PermissionMode;
}

export class ReplSession {
  readonly #options: Options;
  readonly #environment: CliContext['environment'];
  readonly #onEngine: CliContext['onEngine'];
  #config: QueryEngineConfig;
  #engine: QueryEngine;
  #choices: Choices = {};
  #lastResult: SDKResultMessage | undefined;

  private constructor(
    options: Options,
    environment: CliContext['environment'],
    config: QueryEngineConfig,
    onEngine: CliContext['onEngine'],
  ) {
    this.#options = options;
    this.#environment = environment;
    this.#onEngine = onEngine;
    this.#config = config;
    this.#engine = new QueryEngine(config);
    onEngine?.(this.#engine);
  }

  /** @throws UsageError as `configFromOptions` does. */
  static async open(
    options: Options,
    environment: CliContext['environment'],
    onEngine?: CliContext['onEngine'],
  ): Promise<ReplSession> {
    const config = await configFromOptions(options, environment);
    return new ReplSession(options, environment, config, onEngine);
  }

  get config(): QueryEngineConfig {
    return this.#config;
  }
  get engine(): QueryEngine {
    return this.#engine;
  }
  get model(): string {
    return this.#choices.model ?? this.#config.userSpecifiedModel ?? 'the default model';
  }
  get lastResult(): SDKResultMessage | undefined {
    return this.#lastResult;
  }

  /** The result of a turn: it holds the sums of the session. */
  keep(result: SDKResultMessage): void {
    this.#lastResult = result;
  }

  /** Another session in place of this one. @throws UsageError; then this one stays. */
  async renew(): Promise<void> {
    const config = await configFromOptions(forNewSession(this.#options), this.#environment);
    await this.#engine.close();
    this.#config = config;
    this.#engine = new QueryEngine(config);
    this.#onEngine?.(this.#engine);
    this.#lastResult = undefined;
    if (this.#choices.model !== undefined) this.#engine.setModel(this.#choices.model);
    if (this.#choices.mode !== undefined) this.#engine.setPermissionMode(this.#choices.mode);
  }

  /** @throws UsageError when there can be no such model. */
  chooseModel(name: string): void {
    const model = modelNamed(name, this.#config.model);
    this.#choices = { ...this.#choices, model };
    this.#engine.setModel(model);
  }

  /** @throws UsageError when there is no such mode, or it was not made available. */
  chooseMode(name: string): void {
    const mode = permissionModeNamed(name);
    if (!mode) throw new UsageError(`no such mode: ${permissionModes.join(', ')} exist`);
    const { isBypassAvailable } = this.#config.getAppState().toolPermissionContext;
    if (mode === 'bypassPermissions' && !isBypassAvailable) {
      throw new UsageError(
        'bypassPermissions was not allowed at the start: add --allow-dangerously-skip-permissions',
      );
    }
    this.#choices = { ...this.#choices, mode };
    this.#engine.setPermissionMode(mode);
  }
}

/** Without what names a session: the new one is none of those. */
function forNewSession(options: Options): Options {
  const { sessionId, resume, resumeSessionAt, forkSession, ...others } = options;
  return { ...others, continue: false };
}
