/**
 * What a person has granted to us at servers over HTTP (OAuth 2.1): kept in a file of its own for
 * each address, readable by the owner alone, and renewed when it runs out. Nothing here opens a
 * browser, and no session asks for a grant by itself: a person does (`authorize-server.ts`).
 */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { makeFolder } from '../make-folder.ts';

/** As it lies in the file; what the SDK saves comes back as it was. */
interface Kept {
  readonly url: string;
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
}

/** How a person is asked. Absent: nobody is. */
export interface Asking {
  /** Where the answer comes to: of this machine. */
  readonly redirectUrl: string;
  readonly state: string;
  show(address: URL): void;
}

export class Authorization implements OAuthClientProvider {
  readonly #file: string;
  readonly #folder: string;
  readonly #url: string;
  readonly #asking: Asking | undefined;
  #verifier = '';
  /** Who was asked: the answer must come from the same. Of this process alone. */
  #discovered: OAuthDiscoveryState | undefined;

  /** @param folder of all grants, below `$ESCAPEMENT_HOME`. @param url of the server. */
  constructor(folder: string, url: string, asking?: Asking) {
    this.#folder = folder;
    this.#url = url;
    this.#file = fileOf(folder, url);
    this.#asking = asking;
  }

  get redirectUrl(): string {
    return this.#asking?.redirectUrl ?? 'http://127.0.0.1/callback';
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Escapement',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  state(): string {
    return this.#asking?.state ?? '';
  }

  /** A new question is a new registration: the address of the answer is another each time. */
  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    const { client } = await this.#read();
    const redirects = client && 'redirect_uris' in client ? client.redirect_uris : undefined;
    const isOfOther = this.#asking && redirects && !redirects.includes(this.redirectUrl);
    return isOfOther ? undefined : client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): Promise<void> {
    return this.#change((kept) => ({ ...kept, client }));
  }

  /** Read each time: another process may have renewed it. A person who is asked begins anew. */
  async tokens(): Promise<StoredOAuthTokens | undefined> {
    return (await this.#read()).tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    return this.#change((kept) => ({ ...kept, tokens }));
  }

  redirectToAuthorization(address: URL): void {
    this.#asking?.show(address);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  async invalidateCredentials(
    scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery',
  ): Promise<void> {
    if (scope === 'all' || scope === 'discovery') this.#discovered = undefined;
    if (scope === 'all') await this.forget();
    if (scope === 'client') await this.#change(({ client: _, ...kept }) => kept);
    if (scope === 'tokens') await this.#change(({ tokens: _, ...kept }) => kept);
  }

  /** @returns whether there was something to forget. */
  async forget(): Promise<boolean> {
    const { tokens } = await this.#read();
    await rm(this.#file, { force: true });
    return tokens !== undefined;
  }

  async #read(): Promise<Kept> {
    try {
      const kept = JSON.parse(await readFile(this.#file, 'utf8')) as Kept;
      return kept.url === this.#url ? kept : { url: this.#url };
    } catch {
      return { url: this.#url }; // not there, or no longer readable: then nothing was granted
    }
  }

  async #change(change: (kept: Kept) => Kept): Promise<void> {
    makeFolder(this.#folder, 0o700);
    const { default: write } = await import('write-file-atomic');
    const text = `${JSON.stringify(change(await this.#read()), null, 2)}\n`;
    await write(this.#file, text, { mode: 0o600 });
  }
}

const fileOf = (folder: string, url: string): string =>
  join(folder, `${createHash('sha256').update(url).digest('hex').slice(0, 32)}.json`);

/** What was granted for this address, if anything was: only then requests carry it. */
export async function grantedAt(folder: string, url: string): Promise<Authorization | undefined> {
  const authorization = new Authorization(folder, url);
  return (await authorization.tokens()) ? authorization : undefined;
}
