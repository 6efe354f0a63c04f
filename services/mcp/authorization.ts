/**
 * A person grants us something at a server over HTTP (OAuth 2.1). Nothing here opens a browser, and
 * no session asks for a grant by itself: a person does (`authorize-server.ts`).
 */
import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { GrantFile } from './grant-file.ts';

/** How a person is asked. */
export interface Asking {
  /** Where the answer comes to: of this machine. */
  readonly redirectUrl: string;
  readonly state: string;
  show(address: URL): void;
}

/** What we say of ourselves to a server that does not know us. */
export const clientMetadata = (redirectUrl: string): OAuthClientMetadata => ({
  client_name: 'Escapement',
  redirect_uris: [redirectUrl],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/**
 * One question. What was granted before stays in its file until there is something new: a question
 * that nobody answers takes nothing away.
 */
export class Authorization implements OAuthClientProvider {
  readonly #file: GrantFile;
  readonly #asking: Asking;
  #verifier = '';
  /** A new question is a new registration: the address of the answer is another each time. */
  #client: StoredOAuthClientInformation | undefined;
  /** Who was asked: the answer must come from the same. */
  #discovered: OAuthDiscoveryState | undefined;
  #isRefused = false;

  constructor(file: GrantFile, asking: Asking) {
    this.#file = file;
    this.#asking = asking;
  }

  get redirectUrl(): string {
    return this.#asking.redirectUrl;
  }

  get clientMetadata(): OAuthClientMetadata {
    return clientMetadata(this.redirectUrl);
  }

  state(): string {
    return this.#asking.state;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  /**
   * The first request carries what there is. Once the server has refused it (the SDK then asks with
   * a context), it is not renewed under the new name, which it was never granted to.
   */
  async tokens(context?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
    if (context) this.#isRefused = true;
    return this.#isRefused ? undefined : (await this.#file.read()).tokens;
  }

  /** Both at once, for neither is of use without the other. */
  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const client = this.#client;
    await this.#file.write({ url: this.#file.url, ...(client ? { client } : {}), tokens });
  }

  redirectToAuthorization(address: URL): void {
    this.#asking.show(address);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  /** Of this question alone: nothing of the file was sent. */
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'client') this.#client = undefined;
    if (scope === 'all' || scope === 'discovery') this.#discovered = undefined;
  }
}
