/** The file in which lies what one server over HTTP has granted, readable by the owner alone. */
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { makeFolder } from '../make-folder.ts';

/** What the SDK saves comes back as it was. */
export interface Grant {
  readonly url: string;
  /** Whom the server knows us as. Tokens are renewed under this name alone. */
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
}

/** Only what requests are made of is checked. */
const grantSchema = z.looseObject({
  url: z.string(),
  client: z.looseObject({ client_id: z.string() }).optional(),
  tokens: z
    .looseObject({
      access_token: z.string(),
      token_type: z.string(),
      refresh_token: z.string().optional(),
    })
    .optional(),
});

export class GrantFile {
  readonly url: string;
  readonly #file: string;
  readonly #folder: string;

  /** @param folder of all grants, below `$ESCAPEMENT_HOME`. @param url of the server. */
  constructor(folder: string, url: string) {
    const name = createHash('sha256').update(url).digest('hex').slice(0, 32);
    this.url = url;
    this.#folder = folder;
    this.#file = join(folder, `${name}.json`);
  }

  /** Where it is said who renews it: a folder of its own. */
  get lockFolder(): string {
    return this.#file.replace(/json$/, 'lock');
  }

  /** Each time anew: another process may have changed it. */
  async read(): Promise<Grant> {
    try {
      const read = grantSchema.safeParse(JSON.parse(await readFile(this.#file, 'utf8')));
      return read.success && read.data.url === this.url ? (read.data as Grant) : { url: this.url };
    } catch {
      return { url: this.url }; // not there, or no longer readable: then nothing was granted
    }
  }

  async write(grant: Grant): Promise<void> {
    makeFolder(this.#folder, 0o700);
    const { default: write } = await import('write-file-atomic');
    await write(this.#file, `${JSON.stringify(grant, null, 2)}\n`, { mode: 0o600 });
  }

  /** @returns whether there was something to forget. */
  async forget(): Promise<boolean> {
    const { tokens } = await this.read();
    await rm(this.#file, { force: true });
    return tokens !== undefined;
  }
}
