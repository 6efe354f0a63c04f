/**
 * Requests carry what was granted, and it is renewed when the server refuses it: by one at a time,
 * whatever sessions and processes use it. Many servers take each refresh token once and revoke
 * everything when it comes again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AuthProvider,
  FetchLike,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { type SessionLock, takeLock } from '../journal/lock.ts';
import { SessionInUseError } from '../journal/store.ts';
import { clientMetadata } from './authorization.ts';
import { type Grant, GrantFile } from './grant-file.ts';

type UnauthorizedContext = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0];

/** For discovery and the token endpoint together. */
const RENEW_MS = 30_000;
/** Another's renewal, and a little. */
const LOCK_MS = 40_000;
const LOOK_MS = 50;

export class GrantedAccess implements AuthProvider {
  readonly #file: GrantFile;
  /** What each refused request had carried: a later one may carry something newer. */
  readonly #carried = new WeakMap<Response, string>();
  #last: string | undefined;

  constructor(file: GrantFile) {
    this.#file = file;
  }

  async token(): Promise<string | undefined> {
    this.#last = (await this.#file.read()).tokens?.access_token;
    return this.#last;
  }

  /** Notes what requests carry. */
  watched(fetchThere: FetchLike): FetchLike {
    return async (url, init) => {
      const carried = new Headers(init?.headers).get('authorization');
      const response = await fetchThere(url, init);
      if (carried) this.#carried.set(response, carried.replace(/^Bearer /, ''));
      return response;
    };
  }

  /** *Contract:* resolves when another try makes sense; else rejects, and nobody was asked. */
  async onUnauthorized(context: UnauthorizedContext): Promise<void> {
    const refused = this.#carried.get(context.response) ?? this.#last;
    const lock = await lockOf(this.#file.lockFolder);
    try {
      const grant = await this.#file.read();
      const { access_token: held, refresh_token: refresh } = grant.tokens ?? {};
      if (held !== undefined && held !== refused) return; // renewed by another meanwhile
      if (grant.client === undefined || refresh === undefined) throw await unauthorized();
      await renew(new Renewal(this.#file, grant), context);
    } finally {
      lock.release();
    }
  }
}

/**
 * Goes on when the connection is closed: an answer that nobody hears would take the grant away.
 */
async function renew(provider: Renewal, context: UnauthorizedContext): Promise<void> {
  const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(context.response);
  const late = AbortSignal.timeout(RENEW_MS);
  const { fetchFn, serverUrl } = context;
  const end = await auth(provider, {
    serverUrl,
    ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}),
    ...(scope === undefined ? {} : { scope }),
    fetchFn: (url, init) => fetchFn(url, { ...init, signal: late }),
  });
  if (end !== 'AUTHORIZED') throw await unauthorized();
}

async function unauthorized(): Promise<Error> {
  const { UnauthorizedError } = await import('@modelcontextprotocol/client');
  return new UnauthorizedError();
}

/** @throws when somebody else has had it for too long. */
async function lockOf(folder: string): Promise<SessionLock> {
  const endMs = performance.now() + LOCK_MS;
  for (;;) {
    try {
      return takeLock(folder, 'of a grant', () => new Date());
    } catch (error) {
      if (!(error instanceof SessionInUseError)) throw error;
      if (performance.now() > endMs) {
        throw new Error(
          `another process renews its grant and does not end: end that one, or remove ${folder}`,
          { cause: error },
        );
      }
    }
    await sleep(LOOK_MS);
  }
}

/** One renewal. *Contract:* writes only over the grant that it began with. */
class Renewal implements OAuthClientProvider {
  readonly #file: GrantFile;
  readonly #began: Grant;
  #client: StoredOAuthClientInformation | undefined;
  /** Nobody is asked: the address of the answer is never used. */
  readonly redirectUrl = 'http://127.0.0.1/callback';
  readonly clientMetadata = clientMetadata(this.redirectUrl);

  constructor(file: GrantFile, began: Grant) {
    this.#file = file;
    this.#began = began;
    this.#client = began.client;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#began.tokens;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const client = this.#client;
    if (!(await this.#isStillThere())) return; // a person has logged in or out meanwhile
    await this.#file.write({ url: this.#file.url, ...(client ? { client } : {}), tokens });
  }

  /** The server does not know it any more. Nobody can be asked, so it ends here. */
  async invalidateCredentials(scope: string): Promise<void> {
    if (scope === 'verifier' || scope === 'discovery') return;
    if (await this.#isStillThere()) await this.#file.forget();
    throw await unauthorized();
  }

  redirectToAuthorization(): void {}
  saveCodeVerifier(): void {}
  codeVerifier(): string {
    return '';
  }

  async #isStillThere(): Promise<boolean> {
    const { tokens } = await this.#file.read();
    return tokens !== undefined && tokens.refresh_token === this.#began.tokens?.refresh_token;
  }
}

/** What was granted for this address, if anything was: only then requests carry it. */
export async function grantedAt(folder: string, url: string): Promise<GrantedAccess | undefined> {
  const file = new GrantFile(folder, url);
  return (await file.read()).tokens ? new GrantedAccess(file) : undefined;
}
