import packageJson from '../../package.json' with { type: 'json' };

/** Of the package; one source for `--version`, `initialize` and the user agent. */
export const version: string = packageJson.version;
